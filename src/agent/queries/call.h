// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A call: a question about units of this host that is under way. Its kind (agent-calls-status.c and others)
// begins it, and says what it gives back at its end. A reply may cancel the call that it is about, so code
// that goes on after a reply looks the call up again.

#include "agent-core.h"
#include "flow-window.h"
#include "journal.h"

typedef struct Call Call;
typedef void (*CallRelease)(Call *c); // gives back what its kind has taken for it

struct Call {
        ListNode link;   // in a->calls_list
        uint64_t number; // key in a->calls
        Agent *agent;
        AgentNode *node;
        bool anywhere; // asked of the host: `node` is the one that holds names[at]
        AgentReply reply;
        void *userdata;
        CallRelease release; // NULL: nothing
        uint64_t asker;
        char **names;
        size_t n_names, at; // `at`: the name that is being worked on
        unsigned n_lines;
        uint64_t cause_within_us; // status: of the lines that say why a unit failed; 0: of the newest ones

        JournalReader *reader;
        const AgentNode *reads; // a container: `reader`, or `unread`, is about it; NULL: neither is
        int unread;             // why no lines of it can be had; 0: they can
        FlowWindow window; // of a journal call
        bool says_read;    // of one that has not said anything yet, and is to
        Argosy__Response__Property **properties; // status: of names[at]
        size_t n_properties;
        char **lines;
        size_t n_log;
        uint64_t verifying; // a question to the verifier; 0: none
        bool asks_podman;   // that is also about a container
        uint64_t reading; // of resource use, under way; 0: none
        bool has_usage;
        UnitUsage usage;

        Argosy__Response__UnitResult *results; // local stop: one for each name
        size_t n_left;
};

typedef struct CallRef { // userdata of what cannot be cancelled
        Agent *agent;
        uint64_t number;
        size_t at;
} CallRef;

Call *call_find(Agent *a, uint64_t number); // NULL: it has ended, or was cancelled
CallRef *call_ref(const Call *c, size_t at); // the callback frees it; NULL: out of memory
// The node that holds the unit, or NULL.
AgentNode *call_find_holder(Agent *a, const char *name);

// 0, -EBUSY or -ENOMEM. Copies the names.
int call_new(Agent *a, AgentNode *node, char **names, size_t n, CallRelease release, AgentReply reply,
             void *userdata, Call **ret);
void call_free(Call *c);
// The last word of a call without content; frees it.
void call_end(Call *c, int error, const char *message);
