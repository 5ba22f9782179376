// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units whose order goes in a cycle: each would start after itself. Pure.
//
// What is judged is the graph as it is going to be, all units of a request together, so it does not matter
// in which order they are named. Everything that the units come after, directly or not, is looked at once;
// the cost is what can be reached from them, however tangled that is.

#include "cycles.h"
#include "dependencies.h"

typedef struct DependencyCycleSearch {
        const Dependencies *current;
        const Dependencies *planned; // NULL: nothing
        // Whether what `planned` has of the unit counts, instead of what `current` has. NULL: of none.
        bool (*counts)(const char *name, void *userdata);
        void *userdata;
        CycleFound found;
        void *found_data;
        size_t n_steps; // out: units and edges that were looked at
} DependencyCycleSearch;

// As cycles_find(): each unit comes after the next one.
int dependency_cycles_find(DependencyCycleSearch *s, const char *const *names, size_t n) _warn_unused_;
