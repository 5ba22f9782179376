// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// When units are to be looked at again because time has passed.

#include "tables.h"

// Sets or moves the unit's deadline of this kind. 0 or -ENOMEM: it has none then.
int unit_set_deadline(Leader *l, Unit *u, UnitDeadline deadline, uint64_t at_us) _warn_unused_;
// The same, unless it has an earlier one.
int unit_hasten_deadline(Leader *l, Unit *u, UnitDeadline deadline, uint64_t at_us) _warn_unused_;
bool unit_has_deadline(const Unit *u, UnitDeadline deadline);
void unit_forget_deadline(Leader *l, UnitWork *w, UnitDeadline deadline);
// The next unit whose deadline is over; it has none any more. NULL: no other one is.
Unit *unit_take_deadline(Leader *l, UnitDeadline deadline);
uint64_t unit_deadlines_next(const Leader *l); // boot time; 0: there are none
void unit_deadlines_retire(Leader *l);         // all are dropped; what has them goes, or was freed
