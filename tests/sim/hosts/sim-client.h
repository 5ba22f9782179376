// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients of hosts in a world: each asks at the local socket of one of them, over a connection of its own,
// as argosyctl does. They are on a machine of their own, which outlives all others. Who a client is, is what
// the kernel says of its socket; the accounts of the hosts (getpwuid_r(), getgrgid_r(), defined in the
// program) have the names that sim_client_set_accounts() gave.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "sim-net.h"

typedef struct SimAsk {
        uint32_t at; // host
        uint64_t asked_us;
        bool final;      // nothing more is heard
        int error;       // the connection ended first; 0: it was answered
        size_t n;        // responses
        uint64_t job;    // that the first one names
        Argosy__Response *last; // NULL: none yet
        bool called_off;
} SimAsk;

typedef struct SimAccount {
        unsigned id; // of a user, or of a group
        bool is_group;
        const char *name;
} SimAccount;

void sim_client_begin(void);
void sim_client_end(void); // all answers are given back
void sim_client_set_accounts(const SimAccount *accounts, size_t n); // borrowed
// Who looks at each response; it is the host's until this returns. NULL: nobody.
void sim_client_on_response(void (*answered)(const SimAsk *ask, const Argosy__Response *r));
// `user` NULL: root. The answer is kept until the end.
SimAsk *sim_client_send(uint32_t at, const SimUser *user, const Argosy__Request *request);
// That could not be asked.
SimAsk *sim_client_lost(uint32_t at);
// The connection is closed, and nothing more is heard.
void sim_client_call_off(SimAsk *ask);
// A Change about one unit by root, with a new id. `content` NULL: no file; else it replaces what the unit
// has.
SimAsk *sim_client_change(uint32_t at, Argosy__Verb verb, const char *name, const char *content);
// Of the answer to that: what became of the unit; NULL: it is not said.
const Argosy__Response__UnitResult *sim_client_result(const SimAsk *ask);
