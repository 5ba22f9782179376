// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Sweeps: a small story without chance of its own, played once for each place at which something may go
// wrong. Seeds draw such places; a sweep leaves none out.
//
//      crash HOST N      argosyd of that host dies at its n-th change of a file since the story has begun,
//                        and is started a second later
//      outage HOST N     likewise its power fails
//      pair HOST N A B   its power fails behind that change, and of all that it had not synced two
//                        operations alone are lost: the A-th and the
//                        B-th, counted from the last one; 0: none
//      old HOST N        its power fails behind that change, and it is started with the disk that it had
//                        when the story began, as from a backup. A
//                        voter keeps its log: one that forgets is what Raft does not bear
//      lost 0 N          the n-th message that goes from one host to another one is lost, and its connection
//                        with it
//      behind 0 N        it is read, and whoever sent it does not know: the connection is gone
//      late 0 N          it comes ten seconds later, with all that is sent behind it on that way
//
// What happens between voters of a log in memory (sim-store.h) is not among the messages; of that argosyd
// has no part.

#include <stdbool.h>
#include <stdint.h>

#include "story.h"

typedef enum SweepFault {
        SWEEP_NONE,
        SWEEP_CRASH,
        SWEEP_OUTAGE,
        SWEEP_PAIR,
        SWEEP_OLD,
        SWEEP_LOST,
        SWEEP_BEHIND,
        SWEEP_LATE,
        _SWEEP_FAULTS
} SweepFault;

typedef struct SweepPoint {
        SweepFault fault;
        uint32_t host;
        uint64_t n;
        unsigned lost[2]; // of SWEEP_PAIR
} SweepPoint;

enum { SWEEP_HOSTS = 8, SWEEP_CHANGES = 1024 };

// What a story without a fault had.
typedef struct SweepCounts {
        uint64_t changes[SWEEP_HOSTS], messages;
        // operations behind each of the first changes, counted from 1
        uint8_t unsynced[SWEEP_HOSTS][SWEEP_CHANGES];
} SweepCounts;

extern const char *const sweep_fault_names[_SWEEP_FAULTS];

bool hosts_sweep_is_known(const char *name);
const char *hosts_sweep_name(unsigned i); // NULL: there are no more
// In a process of its own; a check that is not true ends it (verdict.h).
void hosts_sweep_play(const char *name, SweepPoint point, StoryOutput output, SweepCounts *ret);
