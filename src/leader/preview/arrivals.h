// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that come to a node in one turn of a plan, and units that are replaced there.

#include "preview-units.h"
#include "leader-core.h"
#include "map.h"

typedef struct Arrival Arrival;

typedef struct Arrivals {
        const Leader *leader;
        const Map *noted; // PreviewUnit by name: all that is planned so far
        Arrival *nodes;   // those to which somebody came who replaces others
        PreviewUnit *const *put;
        size_t n_put;
        Map by_node;
} Arrivals;

// `put`: what came in the turn, in its order, a unit perhaps twice; `units`: all that is noted. They are
// borrowed, and their links are used until arrivals_done(), which is due in any case. 0 or -ENOMEM.
int arrivals_init(Arrivals *a, const Leader *l, PreviewUnit *const *put, size_t n_put,
                  PreviewUnit *const *units, size_t n, const Map *noted);
void arrivals_done(Arrivals *a);

// A unit that is replaced where it is. `by`: the first who came there and replaces it; NULL: somebody who
// was there.
typedef int (*ArrivalsReplaced)(const char *name, const char *by, void *userdata);
// Calls `replaced` for units that are replaced on the node of this unit, noted there or by their record. All
// of that node are told with the first unit that came there and replaces others, so that each is looked at
// once. Returns what `replaced` returns; a negative errno ends it.
int arrivals_each_replaced(const Arrivals *a, const PreviewUnit *put, ArrivalsReplaced replaced,
                           void *userdata);
