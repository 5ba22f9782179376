// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Looks into a Placement, whose insides have names that those of the leader have as well: hence a file of
// its own.
#include "placed-node.h"

#include "placement-private.h"

PlacementState placed_node_state(const Placement *p, uint32_t node) {
        return p->nodes[node].state;
}

uint32_t placed_node_others(const Placement *p, uint32_t node) {
        return p->nodes[node].n_others;
}
