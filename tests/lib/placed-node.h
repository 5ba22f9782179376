// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a Placement was told of a node, for tests of those who tell it.

#include "placement.h"

PlacementState placed_node_state(const Placement *p, uint32_t node);
uint32_t placed_node_others(const Placement *p, uint32_t node);
