// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How long turns of the loop take, as a histogram: what waits for the loop waits for as long. Pure.

#include <stddef.h>
#include <stdint.h>

enum { TURN_BOUNDS = 11 };
extern const uint64_t turn_bounds_us[TURN_BOUNDS]; // ascending

typedef struct TurnTimes { // zeroed: none yet
        uint64_t n[TURN_BOUNDS + 1]; // turns that took at most so long and longer than the bound before; the last: longer than all
        uint64_t sum_us;
} TurnTimes;

void turn_times_add(TurnTimes *t, uint64_t took_us);
// As OpenMetrics has them: with all that took less.
void turn_times_cumulate(const TurnTimes *t, uint64_t ret[TURN_BOUNDS + 1]);
