// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Waiting until the units of a command have come to their ends (wait-loop.h): one set of them at a time is
// asked for, with what is still open of it.

#include "wait-loop.h"
#include "wait-set.h"

typedef struct UnitWait {
        const char *verb;  // for the line on the terminal
        WaitSet *sets;     // all that the command waits for
        size_t n_sets, at; // the one that is asked for now
        // Its verb, or its goal, is the caller's, after unit_wait_init(). With a goal nothing is wanted, so
        // nothing goes on without us.
        Argosy__Request__Wait message;
        // A unit has come to its end.
        void (*ended)(const Argosy__Response__UnitResult *u, void *userdata);
        // As of a WaitKind, with this userdata, before the usual words are said; EXIT_OK: say them. NULL:
        // they are.
        int (*leave)(Ctl *ctl, const WaitEnd *end, void *userdata);
        void *userdata;
        Argosy__Request__Wait__Item **items;
} UnitWait;

void unit_wait_init(UnitWait *w, const char *verb, WaitSet *sets, size_t n_sets);
// As wait_loop_run(); EXIT_OK if nothing of the set is open.
int unit_wait_run(Ctl *ctl, UnitWait *w);
