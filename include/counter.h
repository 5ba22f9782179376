// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is counted, as tables. A row gives a number its name, for programs, and a sentence, for people; the
// field of that name and what is shown are made of the same row, so neither can be forgotten or stand at
// another's place:
//
//      #define THING_COUNTERS(COUNTER, GAUGE) COUNTER(begun, "things that were begun") GAUGE(waiting, "those
//      that wait")
//      typedef struct ThingStats { THING_COUNTERS(COUNTER_FIELD, COUNTER_FIELD) } ThingStats;
//
// A COUNTER only ever grows while the process runs, so programs may make rates of it; a GAUGE goes up and
// down. Counted is by `stats.begun++`; daemon/requests/counters.c shows all tables.
//
// What is one figure for each state, verb or role is a family: the same table makes a CounterFamily of a
// row, and the code that counts puts a Counter for each value of its labels into a list. It bounds the
// values of labels that are not few.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTER_FIELD(name, help) uint64_t name;

enum { COUNTER_LABELS_MAX = 2 };

typedef struct CounterLabel {
        const char *key, *value; // key NULL: none
} CounterLabel;

typedef struct CounterFamily {
        const char *name, *help;
        bool gauge; // it goes up and down
} CounterFamily;

typedef struct Counter {
        CounterFamily of;
        uint64_t value;
        CounterLabel labels[COUNTER_LABELS_MAX];
} Counter;

// Texts are borrowed. Zeroed: none.
typedef struct CounterList {
        Counter *rows;
        size_t n, allocated;
} CounterList;

// Without memory the process ends (oom.h).
void counter_list_add(CounterList *list, Counter row);
void counter_list_done(CounterList *list);
