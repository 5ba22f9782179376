// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which refused connections get a line in the journal. Pure.
//
// Any client that reaches the port can connect and be refused without end, a stranger as well as a member
// whose clock or certificate is wrong. Of each address and reason the first is logged at once; what follows
// within REFUSALS_SPAN_US is counted, and the count is logged with the first event after that, whatever it
// is about, or at the end. No more than REFUSALS_MAX pairs are told apart within that time, the others are
// counted together. So the journal gets at most two lines of each of them in that time, however many
// connections there are, and nothing wakes up for it.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

enum {
        REFUSALS_MAX = 16,
        REFUSALS_WHY_SIZE = 160,
};
#define REFUSALS_SPAN_US (10 * 60 * (uint64_t) 1000000)

typedef struct Refusal {
        char address[STREAM_ADDRESS_SIZE]; // empty: of the others
        char why[REFUSALS_WHY_SIZE];
        uint64_t since_us; // the boot-time clock; 0: free
        uint64_t more;     // since the line about it
} Refusal;

typedef struct Refusals {
        Refusal list[REFUSALS_MAX], others;
} Refusals;

// A count that is due, `all`: or will be. False: there is none.
bool refusals_next(Refusals *r, uint64_t now_us, bool all, Refusal *ret);
// Whether to say this one. Counts that are due are asked for before.
bool refusals_take(Refusals *r, const char *address, const char *why, uint64_t now_us);
