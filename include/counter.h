// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is counted, as tables. A row gives a number its name, for programs, and a sentence, for people; the field of
// that name and what is shown are made of the same row, so neither can be forgotten or stand at another's place:
//
//      #define THING_COUNTERS(COUNTER, GAUGE) COUNTER(begun, "things that were begun") GAUGE(waiting, "those that wait")
//      typedef struct ThingStats { THING_COUNTERS(COUNTER_FIELD, COUNTER_FIELD) } ThingStats;
//
// A COUNTER only ever grows while the process runs, so programs may make rates of it; a GAUGE goes up and down. Counted is by
// `stats.begun++`; daemon/requests/counters.c shows all tables.

#include <stdint.h>

#define COUNTER_FIELD(name, help) uint64_t name;
