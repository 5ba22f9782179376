// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A container that moves runs where it was until its new node has its image. See image-moves.c.

#include "leader-core.h"
#include "tables.h"

// Whether what runs on the node, which is not to have it any more, runs on until then. `e` may be NULL.
bool image_move_waits(const Leader *l, const UnitOnNode *s, const UnitEntry *e);
// Whether the node, which is to have the unit and waits for where it was, is to have the content, and the
// image, before.
bool image_move_prepares(const Leader *l, const UnitOnNode *s, const UnitEntry *e);
