// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How many requests to join are answered. One without a token is refused but takes time, so each address has
// a rate of its own, and all of them together have one. Pure.

#include <stdbool.h>
#include <stdint.h>

#include "accounts.h"

enum {
        JOIN_RATE_PER_SEC = 10, // joiners of an address that are heard, on average
        JOIN_BURST = 30,
        JOIN_RATE_OF_ALL = 10, // times as many, of all addresses
        JOIN_PACE_SLOTS = 256,
};

// Each request uses up a part of a second: when all of it will have come back, boot time. Zero at the
// beginning. Addresses share slots, two each, by their hash, which nobody outside can foresee.
typedef struct JoinPace {
        uint64_t all_used_until_us, used_until_us[2][JOIN_PACE_SLOTS];
} JoinPace;

bool join_pace_takes(JoinPace *p, const Principal *from, uint64_t now_us);
