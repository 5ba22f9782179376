// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is under way about a unit (UnitWork in tables.h), which most units have not. It is made when somebody
// is about to put something into it, and goes at the end of a turn in which nothing is in it any more. So a
// pointer to one holds until then.

#include "leader-core.h"
#include "tables.h"

extern const UnitWork unit_work_none; // nothing is under way

// To be looked at: never NULL.
static inline const UnitWork *unit_work_seen(const Unit *u) {
        return u->work ?: &unit_work_none;
}

// To be changed, whatever comes to be in it or leaves it.
UnitWork *unit_work(Leader *l, Unit *u);
// The same if there is one already: for who takes something out. NULL: there is none, so nothing is in it.
static inline UnitWork *unit_work_if_any(Leader *l, Unit *u) {
        UnitWork *w = u->work;

        if (w && !list_is_linked(&w->looked_at))
                list_append(&l->works, &w->looked_at);
        return w;
}
// The end of a turn: those in which nothing is go. False: not all were looked at, and there is to be another
// turn.
bool unit_works_settle(Leader *l);
void unit_works_done(Leader *l); // the end of the leader: those that are kept for the next units
// Out of all lists of the leader, and freed; what it owns was given back before.
void unit_work_free(Leader *l, Unit *u);
// Only its memory and what is its own, on any thread. NULL is fine.
void unit_work_discard(UnitWork *w);
// It has something in it, or is to be looked at. For tests.
bool unit_work_is_consistent(const Unit *u);
void unit_works_retire(Leader *l); // a term is over: what was under way goes with its unit
