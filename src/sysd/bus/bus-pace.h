// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// When to read again. While systemd starts units it writes its signals in ones and twos, and waking up for
// each costs three times what reading them together does (10 us a message against 3). So when wake-ups
// follow each other closely, the reader rests for BUS_REST_US first; a single event after some quiet is read
// at once. Pure.

#include <stddef.h>
#include <stdint.h>

enum {
        BUS_REST_US = 1000,
        BUS_CLOSE_US = 3000, // wake-ups that are not farther apart than this follow closely
        BUS_CLOSE_WAKES = 4, // so many of them before the first rest
};

typedef struct BusPace {
        uint64_t ended_us; // of the last reading
        unsigned n_close;
} BusPace;

// After a reading that ended at `now_us` (monotonic) with nothing left to read: for how long not to look, in
// microseconds; 0: wait for the next message. n_messages: what was read; 0: the rest was in vain.
uint64_t bus_pace(BusPace *p, size_t n_messages, uint64_t now_us);
