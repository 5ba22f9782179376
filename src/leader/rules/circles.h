// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units whose order goes in a circle: each would start after itself. Pure.
//
// What is judged is the graph as it is going to be, all units of a request together, so it does not matter
// in which order they are named. Everything that the units come after, directly or not, is looked at once;
// the cost is what can be reached from them, however tangled that is.

#include "dependencies.h"

enum { CIRCLES_TOLD_MAX = 8 }; // circles that are searched for one by one, among units that are all tangled

typedef struct Circle {
        const char *const *path; // path[0] comes after path[1], and so on, and the last one after path[0]
        size_t n;                // at least 1
        unsigned line; // of path[0]'s file, which says so; 1: none of the units that were asked about
        const char *const *units; // of those that were asked about: on this circle, or no way round was
        size_t n_units;           // searched for them any more
} Circle;                         // borrowed, for the call

// Anything but 0 ends the search and is returned.
typedef int (*CircleFound)(const Circle *circle, void *userdata);

typedef struct CircleSearch {
        const Dependencies *current;
        const Dependencies *planned; // NULL: nothing
        // Whether what `planned` has of the unit counts, instead of what `current` has. NULL: of none.
        bool (*counts)(const char *name, void *userdata);
        void *userdata;
        CircleFound found;
        void *found_data;
        size_t n_steps; // out: units and edges that were looked at
} CircleSearch;

// Calls `found` until each of these units (each named once) that is on a circle was among Circle.units once.
// Of circles that share units the shortest way round is told from whoever stands last in `names`. 0 or
// -ENOMEM.
int circles_find(CircleSearch *s, const char *const *names, size_t n) _warn_unused_;

// "a after b after a", cut to `size`.
void circle_tell(const Circle *c, char *ret, size_t size);
