// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that wait to be scheduled, in one list per stage (schedule-queue.h). schedule_mark() ->
// schedule_first() -> schedule_take() or schedule_move() to another stage. A unit is in one list at most, in
// the order in which it came. Without memory for its work the process ends (oom.h).

#include "schedule-queue.h"

#include "tables.h"
#include "unit-work.h"

void schedule_mark(Leader *l, Unit *u, ScheduleStage stage) {
        if (!list_is_linked(&unit_work_seen(u)->schedule))
                list_append(&l->schedule[stage], &unit_work(l, u)->schedule);
}

void schedule_move(Leader *l, Unit *u, ScheduleStage stage) {
        schedule_take(l, u);
        schedule_mark(l, u, stage);
}

void schedule_take(Leader *l, Unit *u) {
        list_unlink(&unit_work(l, u)->schedule);
}

void schedule_move_all(Leader *l, ScheduleStage from, ScheduleStage to) {
        list_splice(&l->schedule[to], &l->schedule[from]);
}

Unit *schedule_first(const Leader *l, ScheduleStage stage) {
        const ListNode *list = &l->schedule[stage];

        return list_is_empty(list) ? NULL : CONTAINER_OF(list->next, UnitWork, schedule)->unit;
}

void schedule_retire(Leader *l) {
        for (unsigned i = 0; i < SCHEDULE_STAGES; i++)
                list_init(&l->schedule[i]);
        list_init(&l->unscheduled);
}
