// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How many units and nodes there are in which state, kept as they change: who asks for figures walks over
// nothing (queries/leader-figures.c).

#include "leader-core.h"
#include "tables.h"

// Something of what it is counted by may have changed: its record, its host, its manager.
// Node.state_since_us goes with it.
void tally_node(const Leader *l, Node *n);
// It goes, with all that was on it.
void tally_node_gone(Node *n);
// What is known of the unit there may be something else.
void tally_unit_on_node(UnitOnNode *s);
// Jobs of a verb have a row, which stays the same. One of them is in another state; JOB_UNKNOWN: it is not
// counted before, or any more.
size_t tally_job_row(Leader *l, const char *verb);
void tally_job(Leader *l, size_t row, Argosy__JobState before, Argosy__JobState after);
void tally_unit(Tallies *t, UnitLife life, int step);
// Of a leader that leads no more. How jobs have ended stays.
void tallies_retire(Leader *l); // a term is over: nothing is counted
