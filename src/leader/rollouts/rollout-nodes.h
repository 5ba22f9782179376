// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The nodes of a global unit while a rollout of it is under way, each as one item. All of them are looked at
// once, in turns; from then on only those of which something was seen (RolloutRows), and those that have not
// been up for long enough. A record that changes begins the walk anew.

#include "leader-core.h"
#include "rollout-policy.h"
#include "tables.h"

typedef struct RolloutNodes {
        RolloutItem *items;
        uint32_t *nodes; // of each item
        size_t n, allocated, nodes_allocated;
        uint32_t *index; // of a node's item, by its number, counted from 1; 0: it has none
        size_t n_index;
        size_t n_due;  // of those that were touched, as many were looked at again
        uint32_t host; // up to that one all were looked at
        bool whole;    // all were
        uint64_t revision; // of the rollout's record; 0: of none yet
} RolloutNodes;

// Goes on. False: there is more, and nothing may be decided.
bool rollout_nodes_look(Leader *l, Rollout *o, const Argosy__RolloutRecord *r, Unit *u, const UnitEntry *e);
void rollout_nodes_free(Rollout *o);
