// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients of hosts in a world: each asks at the local socket of one of them, over a connection of its own, as argosyctl does. They are on a
// machine of their own, which outlives all others.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"

typedef struct SimAsk {
        uint32_t at; // host
        uint8_t id[16];
        Argosy__Verb verb;
        char name[64];
        uint64_t asked_us;
        bool final;   // nothing more is heard
        int error;    // the connection ended first; 0: it was answered
        int status;   // of the answer, or of its unit
        uint64_t revision;
        char message[160];
} SimAsk;

void sim_client_begin(void);
void sim_client_end(void); // all answers are given back
// A Change about one unit, with a new id. `content` NULL: no file. The answer is kept until the end.
SimAsk *sim_client_change(uint32_t at, Argosy__Verb verb, const char *name, const char *content);
// Once more, with the id of one that was not answered; at another host perhaps.
SimAsk *sim_client_again(const SimAsk *ask, uint32_t at, const char *content);
size_t sim_client_n_asks(void);
const SimAsk *sim_client_ask(size_t i);
