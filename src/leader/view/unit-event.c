// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The only writer of Unit.life. What follows from where a unit lives is kept here, and nowhere else:
//
//      its queue       the units that are everywhere, those in flight, those that a budget holds back; no
//                      other state has one
//      its turn        those that the next batch looks at have one, in the order of their names: in which
//                      order they came to their node, or had to leave it, no other leader knows
//      its deadline    only a unit that is delayed has one (node-loss-controller.c sets it)
//      n_pending       units without a node and stranded ones, and of those that are to leave a node its
//                      n_stuck
//      marks           schedule and unscheduled, which only such units have: they wait in the Placement, and
//                      in no queue of ours
//      a date          since when it has waited for a node
//
// An event that cannot happen to a unit ends the process: from then on the lists would lie.
#include "unit-event.h"

#include <assert.h>
#include <string.h>

#include "clock.h"
#include "schedule-queue.h"
#include "due.h"
#include "event-marks.h"
#include "oom.h"
#include "tables.h"
#include "tallies.h"
#include "turn.h"
#include "unit-deadlines.h"
#include "unit-work.h"

static ListNode *queue_of(Leader *l, const Unit *u) {
        switch (u->life) {
        case LIFE_GLOBAL:
                return &l->globals;
        case LIFE_COMMITTING:
                return &l->moved;
        case LIFE_HELD:
                return &unit_work_seen(u)->held_by->waiting;
        default:
                return NULL;
        }
}

static const Unit *unit_of(const BinaryHeapItem *moving) {
        return CONTAINER_OF(moving, UnitWork, moving)->unit;
}

static bool is_named_before(const BinaryHeapItem *a, const BinaryHeapItem *b) {
        return strcmp(unit_of(a)->name, unit_of(b)->name) < 0;
}

static void take_turn(Leader *l, Unit *u) {
        (void) oom_check(binary_heap_put(&l->moving, &unit_work(l, u)->moving, is_named_before));
}

static void count_stuck(const Unit *u, size_t n) {
        if (u->life == LIFE_STRANDED && u->leaves)
                u->node->n_stuck += n;
}

static void leave(Leader *l, Unit *u) {
        UnitWork *w = unit_work_if_any(l, u);

        l->n_pending -= unit_life_is_queued(u->life);
        count_stuck(u, (size_t) -1);
        tally_unit(&l->tallies, u->life, -1);
        if (!w)
                return;
        list_unlink(&w->queue);
        binary_heap_take(&l->moving, &w->moving, is_named_before);
        unit_forget_deadline(l, w, UNIT_MOVES);
        list_unlink(&w->schedule);
        list_unlink(&w->unscheduled);
}

static void enter(Leader *l, Unit *u) {
        ListNode *queue = queue_of(l, u);

        if (queue)
                list_append(queue, &unit_work(l, u)->queue);
        if (u->life == LIFE_MOVING)
                take_turn(l, u);
        l->n_pending += unit_life_is_queued(u->life);
        count_stuck(u, 1);
        tally_unit(&l->tallies, u->life, +1);
}

// Since when it waits for a node, which its event says. A unit that is looked at again, or that the entry in
// the making places, waits until the log has that.
static void note_waiting(Leader *l, Unit *u) {
        uint32_t was = unit_work_seen(u)->pending_since_sec, is = was;

        if (!unit_life_is_queued(u->life) && u->life != LIFE_MOVING && u->life != LIFE_COMMITTING)
                is = 0;
        else if (unit_life_is_queued(u->life) && was == 0)
                is = (uint32_t) (leader_wall(l) / USEC_PER_SEC);
        if (is == was)
                return;
        unit_work(l, u)->pending_since_sec = is;
        event_mark(l, &u->event);
}

// It may be its turn before others, preempt somebody, or join one that has a node now.
static void mark(Leader *l, Unit *u, LifeEvent event) {
        UnitWork *w = unit_work(l, u);

        schedule_mark(l, u, SCHEDULE_NEW);
        if (event != LIFE_RECONSIDER && event != LIFE_RECONSIDER_ANYWAY && !list_is_linked(&w->unscheduled))
                list_append(&l->unscheduled, &w->unscheduled);
        leader_set_due(l, DUE_PLACEMENT);
}

bool unit_is_being_placed(const Unit *u) {
        return unit_life_is_moving(u->life) || list_is_linked(&unit_work_seen(u)->unscheduled);
}

void unit_event(Leader *l, Unit *u, LifeEvent event) {
        UnitLife after = unit_life_after(u->life, event);

        assert(after != LIFE_NEVER);
        if (after != u->life) {
                leave(l, u);
                u->life = after;
                enter(l, u);
                note_waiting(l, u);
        }
        if (unit_life_is_queued(after))
                mark(l, u, event);
}

Unit *units_moving_first(const Leader *l) {
        const BinaryHeapItem *first = binary_heap_first(&l->moving);

        return first ? CONTAINER_OF(first, UnitWork, moving)->unit : NULL;
}

void unit_moves_later(Leader *l, Unit *u, ListNode *units) {
        UnitWork *w = unit_work(l, u);

        binary_heap_take(&l->moving, &w->moving, is_named_before);
        list_append(units, &w->queue);
}

void units_move_again(Leader *l, ListNode *units) {
        list_foreach_safe (i, units) {
                list_unlink(i);
                take_turn(l, CONTAINER_OF(i, UnitWork, queue)->unit);
        }
}

static bool is_in(const ListNode *list, const ListNode *member) {
        list_foreach (i, list)
                if (i == member)
                        return true;
        return false;
}

static bool is_at_its_place(const BinaryHeap *h, const BinaryHeapItem *item) {
        return item->place > 0 && item->place <= h->n && h->items[item->place - 1] == item;
}

bool unit_life_is_consistent(const Leader *l, const Unit *u) {
        const ListNode *queue = queue_of((Leader *) l, u);
        const UnitWork *w = unit_work_seen(u);
        bool placed = u->node, has_place = u->life != LIFE_ABSENT && u->life != LIFE_GLOBAL;

        return (queue ? is_in(queue, &w->queue) : !list_is_linked(&w->queue)) &&
               (u->life == LIFE_MOVING) == is_at_its_place(&l->moving, &w->moving) &&
               (u->life == LIFE_DELAYED || !unit_has_deadline(u, UNIT_MOVES)) &&
               (unit_life_is_queued(u->life) ||
                (!list_is_linked(&w->schedule) && !list_is_linked(&w->unscheduled))) &&
               placed == (has_place && u->life != LIFE_PENDING) && (u->recorded || !has_place);
}

void unit_lives_retire(Leader *l) {
        binary_heap_done(&l->moving);
        list_init(&l->moved);
        list_init(&l->globals);
        l->n_pending = 0;
}
