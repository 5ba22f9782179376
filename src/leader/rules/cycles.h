// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units of which each leads to the next one, until one leads back: start after itself, be with itself,
// replace itself. What leads to what, a callback says. Pure.
//
// Everything that can be reached from the units is looked at once; the cost is what can be reached, however
// tangled that is.

#include <stdbool.h>
#include <stddef.h>

#include "macro.h"

enum { CYCLES_REPORTED_MAX = 8 }; // cycles that are searched for one by one, among units that are all
                                  // tangled

typedef struct Cycle {
        const char *const *path; // path[0] leads to path[1], and so on, and the last one to path[0]
        size_t n;                // at least 1
        unsigned line; // of path[0]'s file, which says so; 1: none of the units that were asked about
        const char *const *units; // of those that were asked about: on this cycle, or no way round was
        size_t n_units;           // searched for them any more
} Cycle;                          // borrowed, for the call

// Anything but 0 ends the search and is returned.
typedef int (*CycleFound)(const Cycle *cycle, void *userdata);

typedef struct CycleWalk {
        // Calls cycles_edge() for each unit that `name` leads to. 0, or negative errno, which ends the
        // search.
        int (*next)(struct CycleWalk *w, const char *name, void *userdata);
        CycleFound found;
        void *userdata;             // of both
        size_t max;                 // units that are looked at, else -E2BIG; 0: any number
        size_t n_steps;             // out: units and edges that were looked at
        struct CycleSearch *search; // cycles.c's own
} CycleWalk;

// From `next` only. The name is borrowed until cycles_find() returns. `line` of its file says so; `theirs`:
// of the file of `to`. 0 or negative errno, for `next` to return.
int cycles_edge(CycleWalk *w, const char *to, unsigned line, bool theirs);

// Calls `found` until each of these units (each named once) that is on a cycle was among Cycle.units once.
// Of cycles that share units the shortest way round is told, from the unit that stands last in `names`. 0,
// -ENOMEM, -E2BIG, or what a callback returned.
int cycles_find(CycleWalk *w, const char *const *names, size_t n) _warn_unused_;

// "a BETWEEN b BETWEEN a", cut to `size`.
void cycle_describe(const Cycle *c, const char *between, char *ret, size_t size);
