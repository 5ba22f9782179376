// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What time it is in the cluster. No clock of one host decides that while others can be asked: it is the
// median of the clocks of the voters that were heard in this term, if so many of these agree within a minute
// that they are most of all voters. Else it is not known, and the caller counts on from what the log says.
// Pure.
//
// A clock is an offset: a host's wall clock less the boot clock of who leads, both at the same moment. So it
// goes on by itself, and a host that says nothing for a while is not behind.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        WALL_CLOCK_VOTERS_MAX = 8,      // that are looked at: there are 5, and those that change
        WALL_CLOCK_AGREE_US = 60000000, // clocks that differ by no more agree
        WALL_CLOCK_STEP_US = 50000,     // the median is followed when it has moved by as much: messages take
                                        // a while
        WALL_CLOCK_OFF_US = 2000000,    // a host's clock that differs by more is reported
};

typedef struct WallClockVoter {
        uint32_t host;
        bool heard;
        int64_t offset_us;
} WallClockVoter;

typedef struct WallClock { // zero-initialised: no voters
        WallClockVoter voters[WALL_CLOCK_VOTERS_MAX];
        size_t n_voters;
        bool agreed;       // most of them
        int64_t offset_us; // that of the time, while they do
} WallClock;

// Sets the voters; the clocks of those that stay are kept. Voters beyond WALL_CLOCK_VOTERS_MAX are left out.
void wall_clock_set_voters(WallClock *c, const uint32_t *hosts, size_t n);
// Another term: nobody has been heard.
void wall_clock_forget(WallClock *c);
// A host has said what its clock is. False: it does not vote, or has said nothing new of the time.
bool wall_clock_hear(WallClock *c, uint32_t host, int64_t offset_us);
