// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Walks over what is seen of a unit on thousands of nodes, some at a time. Rows that come meanwhile are met,
// too, and those that go move the walk on.

#include "tables.h"

void row_walk_begin(Leader *l, Unit *u); // over all of its rows; from the beginning, if one is under way
UnitOnNode *row_walk_next(Leader *l);    // of the unit whose walk began first; NULL: there is none any more
void row_walk_on_freed(Leader *l, const UnitOnNode *s);
void row_walk_end(Leader *l, const Unit *u); // it goes
void row_walks_retire(Leader *l);
