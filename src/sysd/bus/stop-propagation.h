// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units systemd stops together with one: a walk along the dependencies by which a stop spreads, as
// answers come in. Pure: the caller asks systemd.
//
//   init, then until next() is NULL:
//      next()      the unit whose dependents are to be asked for
//      add()       one of them
//      unknown()   units whose state is to be asked for
//      state()     the state of one
//   list()

#include <stddef.h>

#include "map.h"
#include "systemd-manager.h"

typedef struct StopNode {
        char *name;
        Argosy__ActiveState active; // UNKNOWN: to be asked for
        bool asked, needs;
        size_t through; // index of the first from which a stop gets there
} StopNode;

typedef struct StopEdge {
        size_t from, to;
        bool needs;
} StopEdge;

typedef struct StopPropagation {
        StopNode *nodes; // the first is the unit that is to be stopped
        size_t n, allocated, at;
        StopEdge *edges;
        size_t n_edges, edges_allocated;
        Map by_name; // index + 1
} StopPropagation;

typedef struct StopKind {
        const char *property; // of a unit: names of those to which its stop spreads
        bool needs;           // they cannot be up without it
} StopKind;

enum { STOP_KINDS = 5 };
extern const StopKind stop_kinds[STOP_KINDS];

int stop_propagation_init(StopPropagation *p, const char *unit); // 0 or -ENOMEM
void stop_propagation_done(StopPropagation *p);
// A stop spreads no further than to what is up: of those one that was not asked for yet. NULL: none.
const char *stop_propagation_next(StopPropagation *p);
// Adds a dependent of the unit that next() returned last. -E2BIG: more than SYSTEMD_DEPENDENTS_MAX; -ENOMEM.
int stop_propagation_add(StopPropagation *p, const StopKind *kind, const char *name);
size_t stop_propagation_unknown(const StopPropagation *p, const char **ret, size_t max);
void stop_propagation_state(StopPropagation *p, const char *name, Argosy__ActiveState active);
// All but the unit itself, in *ret; the names live as long as `p`. Their number, or -ENOMEM.
int stop_propagation_list(StopPropagation *p, SystemdDependent **ret);
