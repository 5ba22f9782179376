// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that wait for a node and are to be judged before a round of the Placement, by how far they are with
// that. A unit is in one stage at a time, behind those that came into it before, and leaves all with the
// state in which it waits (unit-event.c).

#include "leader-core.h"

void schedule_mark(Leader *l, Unit *u, ScheduleStage stage); // unless it is in one
void schedule_move(Leader *l, Unit *u, ScheduleStage stage);
void schedule_take(Leader *l, Unit *u);                      // out of all
void schedule_move_all(Leader *l, ScheduleStage from, ScheduleStage to);
Unit *schedule_first(const Leader *l, ScheduleStage stage); // NULL: there is none
void schedule_retire(Leader *l);                            // a term is over: no unit waits
