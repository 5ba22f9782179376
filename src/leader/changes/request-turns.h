// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// In which order the units of a Change are planned, and so placed: see request-turns.c.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Planner;

typedef enum TurnPhase {
        TURN_PLACED,    // goes wherever there is room
        TURN_COLOCATED,  // is to be where others are (MachineOf=)
        TURN_ACTIVATOR, // goes where what it activates is
} TurnPhase;

typedef struct RequestTurn {
        size_t name; // place in Change.names
        TurnPhase phase;
        uint32_t role;
        int16_t priority;
        uint32_t share;
} RequestTurn;

typedef struct TurnQueue { // those of one phase and role
        size_t next, end;  // in `turns`
        TurnPhase phase;
        uint32_t role;
} TurnQueue;

typedef struct RequestTurns {
        RequestTurn *turns; // by phase, by role, then as they come
        size_t n;
        TurnQueue *queues; // by phase; those of the phase at hand in the order of their roles
        size_t first_queue, n_queues;
        bool begun; // there is a phase at hand
} RequestTurns; // zero-initialised: nobody

// 0 or -ENOMEM; request_turns_done() in either case.
int request_turns_begin(struct Planner *p, RequestTurns *ret);
// The next name, when all before have had their turns; false: there is none.
bool request_turns_next(const struct Planner *p, RequestTurns *t, size_t *ret_name);
void request_turns_done(RequestTurns *t);
