// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that have to go elsewhere, and those that wait for a node.
//
// They may be thousands at once, when a node is lost. So CONSIDERED_UNITS of them are looked at in a turn,
// in the order of their names, first to see which are to move, then, when that is known of all, whether each
// may have its turn. One of a
// lost node then waits for it in the Placement (Leader.enqueued), beside those without a node, and is not
// looked at again unless something has changed; one of a node that is emptied waits there, too, until the
// round is over (Leader.offered). And when all wait there, rounds give to them in their order, as many as an
// entry of the log is to have.
#include "decide-moves.h"

#include <errno.h>

#include "activation-affinity.h"
#include "activators.h"
#include "batch-builder.h"
#include "decision.h"
#include "disruption-budget.h"
#include "due.h"
#include "host-marks.h"
#include "mass-loss-controller.h"
#include "node-loss-controller.h"
#include "nodes.h"
#include "pending.h"
#include "registry.h"
#include "schedule-queue.h"
#include "scheduler.h"
#include "tables.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-file.h"
#include "unit-marks.h"
#include "unit-record.h"
#include "unit-work.h"
#include "walks.h"

enum { CONSIDERED_UNITS = 1000 }; // in one turn, at about 3 us each

bool move_is_due(Decision *d, const Unit *u, const UnitEntry *e) {
        Leader *l = d->leader;

        if (!e || e->record->target == ARGOSY__TARGET__TARGET_INACTIVE || e->record->global)
                return false;
        if (!u->node || activation_affinity_is_elsewhere(l, &d->batch, u, e))
                return true;
        if (host_is_lost(u->node->host)) // what has finished for good has nothing to do elsewhere
                return !(e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
                         record_final_outcome(e->record, e->record->node));
        if (unit_has_to_leave(u, e) || scheduler_must_go(l, u))
                return true;
        return unit_exclusion(u, u->node->number);
}

// One that nobody takes stays with a lost node, since it may still be running there and be right when the
// node comes back; and with one that is being drained, until the drain's deadline. A node that refused it
// loses it.
static bool stays_without_other(const Leader *l, const Unit *u) {
        if (!u->node || host_is_lost(u->node->host))
                return true;
        return node_is_emptying(u->node) && !node_deadline_is_over(l, u->node) &&
               !unit_exclusion(u, u->node->number);
}

static void wait_for_a_node(Leader *l, Unit *u) {
        unit_event(l, u, LIFE_UNSCHEDULABLE);
        unit_touch(l, u);
}

// Whether the unit of a lost node is to wait before it moves, or -ENOMEM.
static int moves_later(Decision *d, Unit *u, const UnitEntry *e) {
        uint64_t at_us = node_loss_moves_at(d->leader, u, e);
        int r;

        if (at_us <= leader_now(d->leader))
                return false;
        r = node_loss_delay(d->leader, u, at_us);
        return r < 0 ? r : true;
}

static int give_node(Decision *d, Unit *u, const UnitEntry *e, uint32_t node) {
        Argosy__UnitRecord next = *e->record;
        int r;

        next.node = node;
        disruption_budget_take(d->leader, u);
        activation_affinity_refresh(d->leader, u->name);
        r = batch_builder_put_unit(&d->batch, &next, 0, e->record->revision);
        if (r >= 0)
                unit_event(d->leader, u, LIFE_GOES);
        return r;
}

static uint32_t node_by_affinity(Decision *d, const Unit *u, const UnitOptions *options) {
        return activation_affinity_node(d->leader, &d->batch, u->name,
                                        activators_activated(&d->leader->activators, u->name), options);
}

// In the order in which it may end: later, not now, on a node that is to be asked for, on that of its
// activator.
int move_choose(Decision *d, Unit *u, UnitEntry *e, MoveChoice *ret) {
        UnitOptions *options = NULL;
        SchedulerAnswer place;
        int r;

        *ret = (MoveChoice){.at_us = node_loss_moves_at(d->leader, u, e)};
        // A drain does not wait for what stays, and it stays lost or not: so this comes before the time.
        if (node_loss_stays(d->leader, u, e)) {
                ret->verdict = MOVE_WAITS;
                return 0;
        }
        if (ret->at_us > leader_now(d->leader)) {
                ret->verdict = MOVE_LATER;
                return 0;
        }
        if (unit_held_by_mass_loss(d->leader, u)) {
                ret->verdict = MOVE_WAITS;
                return 0;
        }
        decision_need_scheduler(d);
        r = unit_options_of(e, &options);
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        place = (SchedulerAnswer){.node = node_by_affinity(d, u, options)};
        if (!place.node && !unit_work_seen(u)->retry && (!u->node || host_is_lost(u->node->host))) {
                unit_options_unref(options); // in its turn, which may preempt others: decide_pending()
                ret->verdict = MOVE_WAITS;
                return 0;
        }
        if (place.node)
                scheduler_put(d->scheduler, u->name, options, place.node);
        else
                r = scheduler_place(d->scheduler, u->name, options, false, &place);
        unit_options_unref(options);
        if (r == -ENOSPC || r == -EINVAL) // more than can be counted: nobody takes it
                place = (SchedulerAnswer){};
        else if (r < 0)
                return r;
        ret->verdict = !place.node && stays_without_other(d->leader, u) ? MOVE_WAITS : MOVE_GOES;
        ret->node = place.node;
        return 0;
}

// Finds the unit another node.
static int move_unit(Decision *d, Unit *u, UnitEntry *e) {
        MoveChoice choice;
        int r = move_choose(d, u, e, &choice);

        if (r < 0)
                return r;
        switch (choice.verdict) {
        case MOVE_LATER:
                return node_loss_delay(d->leader, u, choice.at_us);
        case MOVE_WAITS:
                wait_for_a_node(d->leader, u);
                return 0;
        case MOVE_GOES:
                return give_node(d, u, e, choice.node);
        default:
                return 0;
        }
}

bool move_is_held(const Decision *d, const Unit *u, const UnitEntry *e) {
        const Leader *l = d->leader;

        return disruption_budget_keeps(l, u, e, scheduler_is_replaced(l, u->name));
}

// Whether the unit has to wait for those of its group that are down.
static bool waits_for_its_budget(Decision *d, Unit *u, const UnitEntry *e) {
        if (!move_is_held(d, u, e))
                return false;
        unit_work(d->leader, u)->held_by = disruption_budget_in_the_way(d->leader, u, e);
        unit_event(d->leader, u, LIFE_IS_HELD);
        return true;
}

// One that goes back to its file of before in this entry (jobs/reverts.c) is looked at again for the next
// one.
int decide_moves(Decision *d) {
        Leader *l = d->leader;
        LeaderWalk *walk = &l->walks.of[WALK_MOVES];
        size_t left = walk_slice(walk, CONSIDERED_UNITS);
        ListNode later = LIST_INIT(later);
        int r = 0;

        for (; r >= 0 && left > 0 && units_are_moving(l) && batch_builder_takes_more(&d->batch); left--) {
                Unit *u = units_moving_first(l);
                UnitEntry *e = cluster_state_find_unit(l->state, u->name);

                l->n_considered++;
                if (batch_builder_has_unit(&d->batch, u->name)) {
                        unit_moves_later(l, u, &later);
                        continue;
                }
                scheduler_dequeue(l, u);
                if (move_is_due(d, u, e) && !waits_for_its_budget(d, u, e))
                        r = move_unit(d, u, e);
                if (r >= 0 && u->life == LIFE_MOVING) {
                        unit_event(l, u, LIFE_STAYS);
                        unit_touch(l, u); // a wait that was judged meanwhile took it for one on its way
                }
        }
        units_move_again(l, &later);
        walk_sliced(l, walk, left);
        if (units_are_moving(l))
                leader_mark(l);
        return r;
}

// Lets the unit take part in the next round, or gives it at once the node where it is to join another one.
static int offer(Decision *d, Unit *u, const UnitEntry *e) {
        SchedulerAnswer place = {};
        UnitOptions *options;
        int r;

        if (node_loss_stays(d->leader, u, e))
                return 0;
        r = moves_later(d, u, e);
        if (r != 0)
                return r < 0 ? r : 0;
        if (unit_held_by_mass_loss(d->leader, u))
                return 0;
        r = unit_options_of(e, &options);
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        place.node = node_by_affinity(d, u, options);
        if (place.node)
                scheduler_put(d->scheduler, u->name, options, place.node); // the round counts it there
        else if (unit_work_seen(u)->retry) // not where it has failed, if there is another one: it is asked
                                           // for by itself
                r = scheduler_place(d->scheduler, u->name, options, false, &place);
        unit_options_unref(options);
        if (r < 0)
                return r == -ENOSPC || r == -EINVAL ? 0 : r;
        if (place.node)
                return give_node(d, u, e, place.node);
        if (pending_can_be_enqueued(d->leader, u))
                scheduler_enqueue(d->leader, u, &d->leader->enqueued);
        else if (pending_can_be_offered(d->leader, u))
                scheduler_enqueue(d->leader, u, &d->leader->offered);
        else
                scheduler_offer(d->scheduler, u);
        return 0;
}

static int judge_unit(Decision *d, Unit *u) {
        Leader *l = d->leader;
        UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        bool is_due;

        l->n_pending_judged++;
        l->n_considered++;
        scheduler_dequeue(l, u);
        is_due = move_is_due(d, u, e);
        // Its lost node is back, and it may not stay there either: it loses its node, if no other one takes
        // it, unless nobody knows yet whether it runs there.
        if (is_due && u->node && !stays_without_other(l, u) && !node_loss_stays(l, u, e)) {
                unit_event(l, u, LIFE_RECONSIDER);
                leader_mark(l);
                return 0;
        }
        if (is_due)
                return waits_for_its_budget(d, u, e) ? 0 : offer(d, u, e);
        unit_event(l, u, LIFE_STAYS);
        unit_touch(l, u);
        return 0;
}

static int judge(Decision *d, Unit *u) {
        Leader *l = d->leader;
        int r;

        schedule_take(l, u);
        r = judge_unit(d, u);
        if (r < 0 || !pending_waits_by_itself(l, u))
                pending_mark_later(l, u);
        return r;
}

// Nothing is asked of the Placement about it.
static bool is_judged_without_scheduler(Leader *l, const Unit *u) {
        return pending_can_be_enqueued(l, u) || pending_can_be_offered(l, u) ||
               (!list_is_linked(&unit_work_seen(u)->enqueued) && pending_waits_by_itself(l, u));
}

// Those that then wait in the Placement, some in each turn; the others are left for the last turn, whose
// Scheduler they need. *ret_all: there are no more.
static int judge_some(Decision *d, bool *ret_all) {
        Leader *l = d->leader;
        LeaderWalk *walk = &l->walks.of[WALK_MOVES];
        size_t left = walk_slice(walk, CONSIDERED_UNITS);
        int r = 0;

        for (Unit *u; r >= 0 && left > 0 && (u = schedule_first(l, SCHEDULE_DUE)); left--) {
                if (is_judged_without_scheduler(l, u)) {
                        r = judge(d, u);
                        continue;
                }
                schedule_move(l, u, SCHEDULE_LAST);
        }
        walk_sliced(l, walk, left);
        *ret_all = !schedule_first(l, SCHEDULE_DUE);
        return r;
}

static int judge_last(Decision *d) {
        Unit *u;
        int r = 0;

        while (r >= 0 && (u = schedule_first(d->leader, SCHEDULE_LAST)))
                r = judge(d, u);
        return r;
}

// The host of one may have been cut off meanwhile, say: it is judged anew, and has no part in this round.
static void take_back_offers(Leader *l) {
        list_foreach_safe (i, &l->offered) {
                Unit *u = CONTAINER_OF(i, UnitWork, enqueued)->unit;

                if (pending_is_offered_still(u))
                        continue;
                scheduler_dequeue(l, u);
                schedule_take(l, u);
                pending_mark(l, u);
                leader_set_due(l, DUE_PLACEMENT);
                leader_mark(l);
        }
}

static void end_offers(Leader *l) {
        while (!list_is_empty(&l->offered))
                scheduler_dequeue(l, CONTAINER_OF(l->offered.next, UnitWork, enqueued)->unit);
}

static bool is_judging(const Leader *l) {
        return schedule_first(l, SCHEDULE_DUE) || schedule_first(l, SCHEDULE_LAST);
}

void decide_pending_anew(Leader *l) {
        if (!leader_take_due(l, DUE_ENQUEUED))
                return;
        while (!list_is_empty(&l->enqueued)) {
                Unit *u = CONTAINER_OF(l->enqueued.next, UnitWork, enqueued)->unit;

                scheduler_dequeue(l, u);
                pending_mark(l, u);
                leader_set_due(l, DUE_PLACEMENT);
        }
}

// Units without a node, and those that nobody took when they had to leave theirs, in the order of their
// roles and priorities. None of them may be decided about in this batch already, nor is there to be little
// room. Those of which the Placement knows everything wait there for their turn, and are not looked at.
int decide_pending(Decision *d) {
        Leader *l = d->leader;
        bool all;
        int r;

        if (!pending_is_due(l) || units_are_moving(l) ||
            d->batch.packed.len >= l->limits.entry_bytes / 2 || !batch_builder_takes_more(&d->batch) ||
            pending_is_touched(l, &d->batch))
                return 0;
        decision_need_scheduler(d);
        if (!is_judging(l)) {
                (void) leader_take_due(l, DUE_PLACEMENT);
                schedule_move_all(l, SCHEDULE_LATER, SCHEDULE_DUE);
        }
        schedule_move_all(l, SCHEDULE_NEW, SCHEDULE_DUE); // also who came since others are judged
        r = judge_some(d, &all);
        if (r >= 0 && all)
                r = judge_last(d);
        if (r < 0)
                return r;
        if (!all) {
                leader_mark(l);
                return 0;
        }
        take_back_offers(l);
        r = pending_decide(l, &d->batch, d->scheduler);
        end_offers(l);
        return r;
}

void decide_pending_retire(Leader *l) {
        list_init(&l->enqueued);
        list_init(&l->offered);
        (void) leader_take_due(l, DUE_ENQUEUED);
}
