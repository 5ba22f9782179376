// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Marks of units, for reconcile.c.

#include "leader-core.h"

void unit_touch(Leader *l, Unit *u);       // something about it was seen or changed
// The same, where what nodes say of it is as it was; and where one node says something else, or no more.
void unit_touch_itself(Leader *l, Unit *u);
void unit_touch_on_node(Leader *l, UnitOnNode *s);
// For lists: whether it was touched itself since that was asked last, and not only where it is on some
// nodes.
bool unit_take_touched_itself(Unit *u);
void unit_marks_forget_hosts(Leader *l); // all that were touched have been pulled
void unit_release(Leader *l, Unit *u);     // something of it may have ended, for which others wait
void unit_mark_unused(Leader *l, Unit *u); // it may be unused now
bool unit_is_used(const Unit *u);
void unit_marks_retire(Leader *l); // a term is over: no unit has one
