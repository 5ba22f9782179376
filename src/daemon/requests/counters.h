// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the daemon has counted since it was started: for people (SIGUSR1, `argosyctl counters`) and
// benchmarks. Counting costs an addition where something happens anyway; nothing is sent or written until
// somebody asks.

#include "counter.h"
#include "time-histogram.h"

typedef struct Daemon Daemon;

enum { COUNTED_TIMES = 5 };

typedef struct CountedTimes {
        const char *name, *help;
        TimeHistogram times;
} CountedTimes;

// Appends all of them; rows of one name stand together.
void daemon_counters(const Daemon *d, CounterList *to);
void daemon_counted_times(const Daemon *d, CountedTimes ret[static COUNTED_TIMES]);
