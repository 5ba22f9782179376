// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the daemon has counted since it was started: for people (SIGUSR1, `argosyctl counters`) and
// benchmarks. Counting costs an addition where something happens anyway; nothing is sent or written until
// somebody asks.

#include "systemd-manager.h"
#include "time-histogram.h"

typedef struct Daemon Daemon;

enum { COUNTERS_MAX = 64, COUNTED_TIMES = 2 };

typedef struct Counter {
        const char *name, *help;
        uint64_t value;
        bool gauge; // it goes up and down
} Counter;

typedef struct CountedTimes {
        const char *name, *help;
        TimeHistogram times;
} CountedTimes;

// How many of them there are.
size_t daemon_counters(const Daemon *d, Counter ret[static COUNTERS_MAX]);
void daemon_counted_times(const Daemon *d, CountedTimes ret[static COUNTED_TIMES]);
