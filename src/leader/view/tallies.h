// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How many units and nodes there are in which state, kept as they change: who asks for figures walks over nothing
// (queries/leader-figures.c).

#include "leader-core.h"
#include "tables.h"

// Something of what it is counted by may have changed: its record, its host, its manager. Node.state_since_us goes with it.
void tally_node(const Leader *l, Node *n);
// It goes, with all that was on it.
void tally_node_gone(Node *n);
// What is known of the unit there may be something else.
void tally_unit_on_node(UnitOnNode *s);
void tally_unit(Tallies *t, UnitLife life, int step);
// Of a leader that leads no more. How jobs have ended stays.
void tallies_clear(Tallies *t);
