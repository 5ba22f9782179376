// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that need each other on one node.

#include "batch-builder.h"
#include "leader-core.h"
#include "unit-file.h"

// The node on which the unit is to join one that activates it or that it activates itself (NULL: none); 0:
// none. `b` is the batch in the making.
uint32_t activation_affinity_node(Leader *l, const BatchBuilder *b, const char *name, const char *activates,
                                  const UnitOptions *options);
// Whether the unit is to move to an activator that is launched on another node.
bool activation_affinity_is_elsewhere(Leader *l, const BatchBuilder *b, const Unit *u, const UnitEntry *e);
// The launched activator that this unit follows and that is placed on the same node; NULL: none.
const UnitEntry *activation_affinity_activator_here(const Leader *l, const UnitEntry *e);
// The activator has moved: puts what it activates into Leader.moving.
void activation_affinity_refresh(Leader *l, const char *activator);
// 0 or -ENOMEM
int activation_affinity_on_unit(Leader *l, const UnitEntry *e);
