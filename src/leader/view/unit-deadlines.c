// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Deadlines of units, one heap per kind (unit-deadlines.h). unit_set_deadline() -> unit_deadlines_next()
// arms the timer -> unit_take_deadline(): the next unit that is due. A unit has at most one of each kind;
// setting, moving and dropping cost the logarithm of their number. -ENOMEM: not set.

#include "unit-deadlines.h"

#include "deadline-heap.h"
#include "turn.h"
#include "unit-work.h"

int unit_set_deadline(Leader *l, Unit *u, UnitDeadline deadline, uint64_t at_us) {
        return deadline_heap_set(&l->unit_deadlines[deadline], &unit_work(l, u)->deadlines[deadline], at_us);
}

bool unit_has_deadline(const Unit *u, UnitDeadline deadline) {
        return deadline_is_set(&unit_work_seen(u)->deadlines[deadline]);
}

int unit_hasten_deadline(Leader *l, Unit *u, UnitDeadline deadline, uint64_t at_us) {
        const Deadline *d = &unit_work_seen(u)->deadlines[deadline];

        return deadline_is_set(d) && d->at_us <= at_us ? 0 : unit_set_deadline(l, u, deadline, at_us);
}

void unit_forget_deadline(Leader *l, UnitWork *w, UnitDeadline deadline) {
        deadline_heap_clear(&l->unit_deadlines[deadline], &w->deadlines[deadline]);
}

Unit *unit_take_deadline(Leader *l, UnitDeadline deadline) {
        Deadline *d = deadline_heap_pop(&l->unit_deadlines[deadline], leader_now(l));

        return d ? CONTAINER_OF(d - deadline, UnitWork, deadlines)->unit : NULL;
}

uint64_t unit_deadlines_next(const Leader *l) {
        uint64_t next = 0;

        for (unsigned i = 0; i < UNIT_DEADLINES; i++) {
                uint64_t at_us = deadline_heap_next(&l->unit_deadlines[i]);

                if (at_us > 0 && (next == 0 || at_us < next))
                        next = at_us;
        }
        return next;
}

void unit_deadlines_retire(Leader *l) {
        for (unsigned i = 0; i < UNIT_DEADLINES; i++)
                deadline_heap_done(&l->unit_deadlines[i]);
}
