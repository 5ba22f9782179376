// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A process full of virtual hosts at a real cluster, in three files:
//
//      virtual-hosts.c        options, commands, what is said on standard output; beginning and end
//      virtual-hosts-join.c   the local socket of a member: a token, then each host's key and its request to
//                             join
//      virtual-hosts-mesh.c   each host's links to the voters, and when it is its turn
//
// Lifetimes: members live as long as the process. A member has a mesh from when it has joined until it is
// lost, leaves or is removed; one that was lost may get another one.

#include <uv.h>

#include "identity.h"
#include "join-token.h"
#include "uvx.h"
#include "virtual-host.h"

typedef struct Mesh Mesh;
typedef struct Stream Stream;
typedef struct TlsContext TlsContext;
typedef struct VirtualHosts VirtualHosts;

enum {
        MEMBER_NAME_MAX = 48,
        MEMBER_PORT = 1, // at which nobody listens
};

typedef struct Span { // a time is drawn between the two
        uint64_t min_us, max_us;
} Span;

typedef struct Member {
        VirtualHosts *all;
        VirtualHost virtual;
        char name[MEMBER_NAME_MAX];
        uint32_t host;         // its number; 0: it has not joined
        Identity identity;
        TlsContext *tls;
        Mesh *mesh;
        uint8_t cluster_id[16];
        uint64_t generation;
        Argosy__JoinAnswer *joined; // who votes, as far as it was told
        Deadline due;              // in VirtualHosts.due
        ListNode marked;              // in VirtualHosts.marked
        bool ready;                // it was welcomed once
        bool lost;                 // its machine has no power
        bool over;                 // it has left, or was removed
} Member;

typedef struct VirtualOptions {
        const char *socket; // of an argosyd that is a member
        const char *prefix; // of names
        const char *label_key, *label_value; // NULL: none
        size_t n_hosts, n_lose;
        uint64_t seed;
        Span start, stop;
        unsigned fail_permille; // of starts
        bool user;              // the cluster is one of users' managers
} VirtualOptions;

struct VirtualHosts {
        uv_loop_t loop;
        VirtualOptions options;
        Argosy__Label label, *labels[1]; // as options say
        size_t n_labels;
        Member *members;
        size_t n_members;
        DeadlineHeap due;
        ListNode marked; // of whom something was heard in this turn
        Drain drain;
        uv_timer_t timer;
        size_t n_ready; // members that were welcomed once
        uint64_t n_violations;
        // The join.
        Stream *socket; // NULL: closed
        JoinToken token;
        size_t n_asked, n_joined;
        bool ending;
};

// virtual-hosts.c
_Noreturn void virtual_hosts_fail(const char *format, ...) _printf_(1, 2);
void virtual_hosts_on_ready(VirtualHosts *v); // all were welcomed
// It lies between the two, and is the same for the same seed, word and number.
uint64_t virtual_hosts_draw(const VirtualHosts *v, const char *word, uint64_t number, uint64_t min,
                            uint64_t max);

// virtual-hosts-join.c
void virtual_hosts_join(VirtualHosts *v);

// virtual-hosts-mesh.c
void member_init(Member *m, VirtualHosts *all, size_t number);
void member_on_joined(Member *m, Argosy__JoinAnswer *reply); // takes the reply
void member_lose(Member *m);                                // no power
void member_return(Member *m);                              // it has power again, and has forgotten
                                                            // everything
void member_leave(Member *m);                               // it is shut down in order
bool member_is_here(const Member *m);
void member_done(Member *m);
void virtual_hosts_on_turn(void *userdata);
void virtual_hosts_on_timer(uv_timer_t *timer);
