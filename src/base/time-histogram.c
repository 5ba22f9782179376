// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long things took, counted by TIME_BOUNDS bounds (time-histogram.h), in microseconds.
// time_histogram_add() per duration, some ten comparisons -> time_histogram_cumulate() for /metrics. Nothing
// fails. Bounds are close to each other around 10 ms, which is what a turn of the loop may take
// (ARCHITECTURE.md).

#include "time-histogram.h"

const uint64_t time_bounds_us[TIME_BOUNDS] = {100,   250,   500,    1000,   2500,    5000,    10000,
                                              25000, 50000, 100000, 250000, 1000000, 10000000};

void time_histogram_add(TimeHistogram *t, uint64_t took_us) {
        size_t i = 0;

        while (i < TIME_BOUNDS && took_us > time_bounds_us[i])
                i++;
        t->n[i]++;
        t->sum_us += took_us;
}

void time_histogram_cumulate(const TimeHistogram *t, uint64_t ret[TIME_BOUNDS + 1]) {
        uint64_t sum = 0;

        for (size_t i = 0; i <= TIME_BOUNDS; i++)
                ret[i] = sum += t->n[i];
}
