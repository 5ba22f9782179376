// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How long something takes, as a histogram: turns of the loop, entries of the log, snapshots. Pure.

#include <stddef.h>
#include <stdint.h>

enum { TIME_BOUNDS = 13 };
extern const uint64_t time_bounds_us[TIME_BOUNDS]; // ascending

typedef struct TimeHistogram { // zeroed: none yet
        // Those that took at most so long, and longer than the bound before; the last: longer than all.
        uint64_t n[TIME_BOUNDS + 1];
        uint64_t sum_us;
} TimeHistogram;

void time_histogram_add(TimeHistogram *t, uint64_t took_us);
// As OpenMetrics has them: with all that took less.
void time_histogram_cumulate(const TimeHistogram *t, uint64_t ret[TIME_BOUNDS + 1]);
