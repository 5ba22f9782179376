// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See turn-times.h. Bounds are close to each other around 10 ms, which is what a turn may take (ARCHITECTURE.md).

#include "turn-times.h"

const uint64_t turn_bounds_us[TURN_BOUNDS] = {100,   250,   500,   1000,   2500,   5000,
                                              10000, 25000, 50000, 100000, 1000000};

void turn_times_add(TurnTimes *t, uint64_t took_us) {
        size_t i = 0;

        while (i < TURN_BOUNDS && took_us > turn_bounds_us[i])
                i++;
        t->n[i]++;
        t->sum_us += took_us;
}

void turn_times_cumulate(const TurnTimes *t, uint64_t ret[TURN_BOUNDS + 1]) {
        uint64_t sum = 0;

        for (size_t i = 0; i <= TURN_BOUNDS; i++)
                ret[i] = sum += t->n[i];
}
