// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A call: a question about units of this host that is under way. It is begun and ends in agent-calls.c, and
// what it does meanwhile is in agent-calls-status.c or agent-calls-journal.c. A reply may cancel the call
// that it is about, so code that goes on after a reply looks the call up again.

#include "agent-core.h"
#include "flow-window.h"
#include "journal.h"

typedef struct Call {
        ListNode link;   // in a->calls_list
        uint64_t number; // key in a->calls
        Agent *agent;
        AgentNode *node;
        bool anywhere; // asked of the host: `node` is the one that holds names[at]
        AgentReply reply;
        void *userdata;
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
        uint64_t reading; // of resource use, under way; 0: none
        bool has_usage;
        UnitUsage usage;

        Argosy__Response__UnitResult *results; // local stop: one for each name
        size_t n_left;
} Call;

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
int call_new(Agent *a, AgentNode *node, char **names, size_t n, AgentReply reply, void *userdata,
             Call **ret);
void call_free(Call *c);
// The last word of a call without content; frees it.
void call_end(Call *c, int error, const char *message);

// ---- agent-calls-status.c

int call_start_status(Agent *a, uint64_t asker, AgentNode *node, const Argosy__Request__Status *q,
                      AgentReply reply, void *userdata, uint64_t *ret);
// Forgets what was gathered about one of the names.
void call_reset_status(Call *c);

// ---- agent-calls-verify.c

int call_start_verify(Agent *a, AgentNode *node, const Argosy__Request__Verify *q, AgentReply reply,
                      void *userdata, uint64_t *ret);

// ---- agent-calls-journal.c

int call_start_journal(Agent *a, uint64_t asker, AgentNode *node, const Argosy__Request__Journal *q,
                       AgentReply reply, void *userdata, uint64_t *ret);
// Its journal is one that we can read from here.
bool call_node_has_journal(const AgentNode *node);
// The newest `n_lines` of that unit, and with `follow` those that come, to `ops` with the call as userdata.
int call_read_lines(Call *c, const char *unit, unsigned n_lines, bool follow, const JournalOps *ops);
// In one sentence; NULL: out of memory.
char *call_why_no_lines(const Call *c, int error);
void call_drop_reader(Call *c);
