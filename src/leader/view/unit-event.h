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
// It is in the lists of where it lives, and in no other: for tests.
// They were taken out of their queue in LIFE_MOVING, by UnitWork.queue, and are put back at its end. `units`
// is empty afterwards.
void units_move_again(Leader *l, ListNode *units);
bool unit_life_is_consistent(const Leader *l, const Unit *u);
void unit_lives_retire(Leader *l); // a term is over: no unit is in a list
