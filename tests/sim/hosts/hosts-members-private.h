// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is known of hosts that come and go: of what was asked for them, and of what became of it.

#include "hash.h"
#include "hosts-members.h"
#include "sim-host.h"

enum { ASKED_MAX = 1024, TOKENS_MAX = 256 };

typedef struct Token {
        char *text; // as long as the process
        bool once;
        Hash used_by; // by whom, of those that are used once
        unsigned n_used;
} Token;

typedef struct Asked {
        const SimAsk *at_host;
        const char *what;
        uint32_t machine; // that it is about
        uint32_t joins;   // of a token: the machine that is to join with it; 0: none
        uint32_t server;  // at whose address
        unsigned token;   // of a join: its number; of a request for one: the number that it gets
        bool discard;
} Asked;

typedef struct Members {
        Asked asked[ASKED_MAX];
        size_t n_asked;
        Token tokens[TOKENS_MAX];
        unsigned n_tokens;
        unsigned joins_with[SIM_CLUSTER_MAX + 1];  // the token of the machine's last join
        unsigned let_in_with[SIM_CLUSTER_MAX + 1]; // that was answered well, since it was none; 0: none was
        bool was_in[SIM_CLUSTER_MAX + 1];          // by itself
        uint64_t gone_us[SIM_CLUSTER_MAX + 1];     // when its record went; 0: it has one, or never had
        bool had[SIM_CLUSTER_MAX + 1];             // a record
        bool was_alive[SIM_CLUSTER_MAX + 1];       // when its record went, so that the leader has waited for
                                                   // its units
        uint64_t n_ids;
} Members;

extern Members members;

// Asks at one machine for something about another one. NULL: enough was asked.
Asked *members_ask(uint32_t at, Argosy__Request *request, const char *what, uint32_t machine);
void members_ask_removal(uint32_t at, uint32_t machine, bool force);
void members_ask_leave(uint32_t machine, bool force);
// A unit that runs on it, by its place in asks.units; asks.n_units: none does.
unsigned members_first_unit_on(const SimMachine *m);
// Whether it can hear that it was removed.
bool members_can_hear_of_it(const SimMachine *m);
