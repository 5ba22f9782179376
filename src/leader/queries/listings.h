// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Lists of thousands of units, made and given in turns of the loop.

#include "leader-core.h"

// Begins a long list (listing-question.h). 0 or -ENOMEM.
int listing_start(Leader *l, PendingRequest *t);
// What was seen or changed, while the list is made: about a unit, also one that goes; and about a node. What
// hosts note of themselves is Leader.n_host_changes.
void listings_on_unit(Leader *l, const char *name);
// one that was touched: as a whole, or where it is on some hosts (unit-marks.c)
void listings_on_touched(Leader *l, Unit *u);
void listings_on_node(Leader *l, const Node *n);
void listings_step(Leader *l);  // once per turn, when nothing that was touched is left to be pulled
void listings_clear(Leader *l); // all that is left is freed at once: at the end
