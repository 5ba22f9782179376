// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What happens to a unit: it lives on as unit-life.h says, and the lists follow.

#include "leader-core.h"
#include "unit-life.h"

// The only way to change Unit.life. The unit's node, group and record are those before the event.
void unit_event(Leader *l, Unit *u, LifeEvent event);
// The next batch, or the next round of those that wait, looks for a node for it: nobody knows yet that none
// takes it.
bool unit_is_being_placed(const Unit *u);
// The first by name of those in LIFE_MOVING, all of which the next batches look at; NULL: there is none.
Unit *units_moving_first(const Leader *l);
static inline bool units_are_moving(const Leader *l) {
        return l->moving.n > 0;
}
// Not in this batch: until units_move_again() it is in `units`, by UnitWork.queue. That is empty afterwards.
void unit_moves_later(Leader *l, Unit *u, ListNode *units);
void units_move_again(Leader *l, ListNode *units);
// It is in the lists of where it lives, and in no other: for tests.
bool unit_life_is_consistent(const Leader *l, const Unit *u);
void unit_lives_retire(Leader *l); // a term is over: no unit is in a list
