// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is under way about units: made on demand, owned by the unit, gone when there is nothing in it.
//
// That is found out here: code that changes a UnitWork gets it from unit_work(), which notes it in
// Leader.works, and the end of the turn looks at those that were noted. So a start, which touches its unit a
// dozen times in a turn, makes one of them, and the next of many starts takes the memory of one that has
// come to rest (Leader.works_spare).
//
// Without memory for one the process ends (oom.h).
#include "unit-work.h"

#include "oom.h"
#include "unit-deadlines.h"

const UnitWork unit_work_none = {
        .waiters = {(ListNode *) &unit_work_none.waiters, (ListNode *) &unit_work_none.waiters}};

static UnitWork *take_spare(Leader *l) {
        UnitWork *w;

        if (list_is_empty(&l->works_spare))
                return oom_checked(calloc(1, sizeof(*w)));
        w = CONTAINER_OF(l->works_spare.next, UnitWork, looked_at);
        list_unlink(&w->looked_at);
        l->n_works_spare--;
        return w;
}

UnitWork *unit_work(Leader *l, Unit *u) {
        if (!u->work) {
                u->work = take_spare(l);
                u->work->unit = u;
                list_init(&u->work->waiters);
        }
        return unit_work_if_any(l, u);
}

static bool is_idle(const UnitWork *w) {
        return list_is_empty(&w->waiters) && !list_is_linked(&w->queue) &&
               !w->moving.place && !list_is_linked(&w->schedule) && !list_is_linked(&w->enqueued) &&
               !list_is_linked(&w->unscheduled) && !list_is_linked(&w->touched) &&
               !list_is_linked(&w->released) && !list_is_linked(&w->refusals_due) &&
               !list_is_linked(&w->unused) && !list_is_linked(&w->waited) && !list_is_linked(&w->parting) &&
               !list_is_linked(&w->order_due) && !list_is_linked(&w->excluded) && !w->exclusions &&
               !deadline_is_set(&w->deadlines[UNIT_MOVES]) && !deadline_is_set(&w->deadlines[UNIT_ENDS]) &&
               !w->retry && !w->preemption &&
               !unit_life_is_queued(w->unit->life) && w->unit->life != LIFE_HELD;
}

// As new, but for heads and members of lists, which are in none.
static void rest(Leader *l, UnitWork *w) {
        w->unit->work = NULL;
        w->unit = NULL;
        w->held_by = NULL;
        w->pending_since_sec = 0;
        w->judged_round = 0;
        if (l->n_works_spare >= l->limits.spare_works) {
                free(w);
                return;
        }
        list_append(&l->works_spare, &w->looked_at);
        l->n_works_spare++;
}

bool unit_works_settle(Leader *l) {
        for (unsigned n = 0; n < l->limits.settled_works && !list_is_empty(&l->works); n++) {
                UnitWork *w = CONTAINER_OF(l->works.next, UnitWork, looked_at);

                list_unlink(&w->looked_at);
                if (is_idle(w))
                        rest(l, w);
        }
        return list_is_empty(&l->works);
}

void unit_works_done(Leader *l) {
        list_foreach_safe (i, &l->works_spare)
                free(CONTAINER_OF(i, UnitWork, looked_at));
        list_init(&l->works_spare);
}

void unit_work_free(Leader *l, Unit *u) {
        UnitWork *w = u->work;

        if (!w)
                return;
        list_unlink(&w->looked_at);
        list_unlink(&w->touched);
        list_unlink(&w->released);
        list_unlink(&w->refusals_due);
        list_unlink(&w->unused);
        list_unlink(&w->waited);
        list_unlink(&w->order_due);
        list_unlink(&w->parting);
        list_unlink(&w->enqueued);
        list_unlink(&w->excluded);
        unit_forget_deadline(l, w, UNIT_ENDS);
        u->work = NULL;
        unit_work_discard(w);
}

void unit_work_discard(UnitWork *w) {
        if (!w)
                return;
        for (Exclusion *e = w->exclusions, *next; e; e = next) {
                next = e->next;
                free(e);
        }
        free(w->retry); // owns nothing
        free(w->preemption);
        free(w);
}

bool unit_work_is_consistent(const Unit *u) {
        return !u->work ||
               (u->work->unit == u && (list_is_linked(&u->work->looked_at) || !is_idle(u->work)));
}

void unit_works_retire(Leader *l) {
        list_init(&l->works);
}
