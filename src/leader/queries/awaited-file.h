// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a node has to pull before another unit of it starts.

#include "leader-core.h"
#include "unit-on-node.h"

// Whether the unit's file names, or activates, one on its node whose image is being pulled: the node starts
// the unit when the file of that is there (agent-start-barrier.c). Then `phrase` and that are in ret.
bool awaited_file_phrase(const Leader *l, const UnitOnNode *s, const char *phrase, char *ret, size_t size);
