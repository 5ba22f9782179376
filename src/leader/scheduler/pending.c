// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that wait for a node. A round of the Placement says which is next; a unit that finds no room may
// preempt units of lower priority whose options allow that (Preemptible=), within two budgets:
// limits.preempted of the cluster at a time, and of each group what its MaxUnavailable= allows, where what
// is down for other reasons counts, too.
//
// A preempted unit has no node and its record says by whom it was preempted; it waits like any other, and
// with its lower priority never preempts in return, so that each preemption raises what runs, and nothing
// goes round in cycles. The other one is ordered there in the same batch, and its order waits until the
// preempted one has ended (pending_awaited()): its room is in use until then.
#include <errno.h>

#include "activation-affinity.h"
#include "activators.h"
#include "batch-builder.h"
#include "disruption-budget.h"
#include "due.h"
#include "host-marks.h"
#include "nodes.h"
#include "pending.h"
#include "registry.h"
#include "schedule-queue.h"
#include "scheduler.h"
#include "tables.h"
#include "unit-event.h"
#include "unit-marks.h"
#include "unit-on-node.h"
#include "unit-work.h"

// -------------------------------------------------------------------------------------------- who made room

static void forget_victim(Preemption *p) {
        list_unlink(&p->victim);
        list_unlink(&p->preempted);
        p->by = NULL;
}

void pending_forget(Leader *l, Unit *u) {
        Preemption *p = unit_work_seen(u)->preemption;

        if (!p)
                return;
        forget_victim(p);
        list_foreach_safe (i, &p->victims)
                forget_victim(CONTAINER_OF(i, Preemption, victim));
        free(p);
        unit_work(l, u)->preemption = NULL;
}

static Preemption *preemption_get(Leader *l, Unit *u) {
        UnitWork *w = unit_work(l, u);
        Preemption *p = w->preemption ?: calloc(1, sizeof(*p));

        if (!p || w->preemption)
                return p;
        p->unit = u;
        list_init(&p->victims);
        w->preemption = p;
        return p;
}

// It makes room as long as it has not ended, also when it has got another node or was destroyed meanwhile.
int pending_on_unit(Leader *l, Unit *u, const UnitEntry *e) {
        const char *by = e->removed ? "" : e->record->displaced_by;
        Preemption *victim, *preemptor;
        Unit *other;

        if (!*by || !cluster_state_find_unit(l->state, by))
                return 0;
        if (unit_work_seen(u)->preemption)
                forget_victim(unit_work_seen(u)->preemption);
        other = unit_get(l, by);
        if (!other)
                return -ENOMEM;
        if (other == u)
                return 0;
        victim = preemption_get(l, u);
        preemptor = preemption_get(l, other);
        if (!victim || !preemptor)
                return -ENOMEM;
        victim->by = other;
        list_append(&preemptor->victims, &victim->victim);
        list_append(&l->preempted, &victim->preempted);
        return 0;
}

// Preempted from there and not ended yet, as far as anybody knows. What is to be on all nodes by now makes
// no room any more, and goes on there.
static bool is_ending(const UnitOnNode *s) {
        return s->unit->node != s->node && s->unit->life != LIFE_GLOBAL && s->node->host->attached &&
               unit_on_node_is_known(s) &&
               !(unit_on_node_is_reported(s) && s->leaving && unit_on_node_is_down(s));
}

const Unit *pending_awaited(const UnitOnNode *s) {
        const Preemption *p = unit_work_seen(s->unit)->preemption;

        if (!p)
                return NULL;
        list_foreach (i, &p->victims) {
                const Unit *u = CONTAINER_OF(i, Preemption, victim)->unit;

                list_foreach (k, &u->on_nodes) {
                        const UnitOnNode *o = CONTAINER_OF(k, UnitOnNode, by_unit);

                        if (o->node->host == s->node->host && is_ending(o))
                                return u;
                }
        }
        return NULL;
}

// -------------------------------------------------------------------------------------------- who is judged

// It goes where the other one is, whatever room there is (activation-affinity.c): it is not preempted, since
// it would be back at once, and has to be judged.
static bool has_activation_affinity(Leader *l, const Unit *u) {
        return activators_activated(&l->activators, u->name) ||
               activators_has_any(&l->activators, u->name);
}

void pending_mark(Leader *l, Unit *u) {
        if (unit_life_is_queued(u->life))
                schedule_mark(l, u, SCHEDULE_NEW);
}

void pending_mark_later(Leader *l, Unit *u) {
        if (unit_life_is_queued(u->life))
                schedule_mark(l, u, SCHEDULE_LATER);
}

bool pending_waits_by_itself(Leader *l, const Unit *u) {
        if (list_is_linked(&unit_work_seen(u)->enqueued))
                return !u->node || host_is_lost(u->node->host);
        return !u->node && !unit_work_seen(u)->retry && u->scheduling.place &&
               !has_activation_affinity(l, u);
}

bool pending_can_be_enqueued(Leader *l, const Unit *u) {
        return u->node && host_is_lost(u->node->host) && !unit_work_seen(u)->retry && u->scheduling.place &&
               !has_activation_affinity(l, u);
}

bool pending_is_offered_still(const Unit *u) {
        return unit_life_is_queued(u->life) && u->node && u->leaves && node_is_emptying(u->node) &&
               u->node->host->attached && !unit_work_seen(u)->retry && u->scheduling.place;
}

bool pending_can_be_offered(Leader *l, const Unit *u) {
        return pending_is_offered_still(u) && !has_activation_affinity(l, u);
}

bool pending_is_due(const Leader *l) {
        return leader_is_due(l, DUE_PLACEMENT) || schedule_first(l, SCHEDULE_DUE) ||
               schedule_first(l, SCHEDULE_LAST);
}

static bool is_pending(const char *name, void *userdata) {
        const Unit *u = unit_find(userdata, name);

        return u && unit_life_is_queued(u->life);
}

bool pending_is_touched(Leader *l, const BatchBuilder *b) {
        return batch_builder_each_unit(b, is_pending, l);
}

// ------------------------------------------------------------------------------------------------ budgets

// How many a round may preempt. None while there are hosts that this leader has not heard
// yet: one of those may have room.
static size_t preemptions_left(const Leader *l) {
        size_t n = 0;

        if (l->n_hosts.unattached > 0)
                return 0;
        list_foreach (i, &l->preempted) {
                const Unit *u = CONTAINER_OF(i, Preemption, preempted)->unit;

                if (!unit_life_is_queued(u->life))
                        continue;
                list_foreach (k, &u->on_nodes)
                        n += is_ending(CONTAINER_OF(k, UnitOnNode, by_unit));
        }
        return n < l->limits.preempted ? l->limits.preempted - n : 0;
}

// What is decided about already is left alone.
static bool may_be_preempted(Leader *l, const Unit *u, Unit *const *taken, size_t n, void *userdata) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        const PendingView *v = userdata;
        const DisruptionBudget *g = u->budget;
        size_t of_budget = 0;

        if (!e || batch_builder_has_unit(v->batch, u->name) || has_activation_affinity(l, u))
                return false;
        if (u->life != LIFE_RESIDENT && !(v->is_planned && v->is_planned(u->name, v->userdata)))
                return false;
        if (!g || !u->counted || u->down)
                return true;
        for (size_t i = 0; i < n; i++)
                of_budget += taken[i]->budget == g && taken[i]->counted && !taken[i]->down;
        return of_budget < disruption_budget_room(l, g, e);
}

// ------------------------------------------------------------------------------------------------ the round

static int take_step(Leader *l, BatchBuilder *b, const SchedulerStep *step) {
        const UnitEntry *e = cluster_state_find_unit(l->state, step->name);
        Argosy__UnitRecord next;
        int r;

        // Another unit of its budget may have been taken down in this round. The leader is not marked for
        // it: what makes room in a budget marks it, and until then a round would find the same.
        if (!e || !step->unit || batch_builder_has_unit(b, step->name) ||
            (step->node && disruption_budget_keeps(l, step->unit, e, false))) {
                leader_set_due(l, DUE_PLACEMENT);
                return 0;
        }
        next = *e->record;
        next.node = step->node ? step->node->number : 0;
        if (!step->node)
                next.displaced_by = (char *) step->by;
        disruption_budget_take(l, step->unit);
        activation_affinity_refresh(l, step->name);
        scheduler_refresh_colocated(l, step->unit->scheduling.place - 1);
        r = batch_builder_put_unit(b, &next, 0, e->record->revision);
        if (r >= 0)
                unit_event(l, step->unit, LIFE_GOES);
        return r;
}

// Waits for the start of these units are answered now: no node takes them. A unit that got a node has it
// when the batch is committed.
static void all_were_tried(Leader *l, const BatchBuilder *b) {
        list_foreach_safe (i, &l->unscheduled) {
                Unit *u = CONTAINER_OF(i, UnitWork, unscheduled)->unit;

                if (batch_builder_has_unit(b, u->name))
                        continue;
                list_unlink(&unit_work(l, u)->unscheduled);
                unit_touch(l, u);
        }
}

void pending_round(Leader *l, PendingView *view, Scheduler *scheduler, size_t most, SchedulerStep **ret,
                   size_t *ret_n) {
        scheduler_round(scheduler, most, preemptions_left(l), may_be_preempted, view, ret, ret_n);
}

int pending_decide(Leader *l, BatchBuilder *b, Scheduler *scheduler) {
        _cleanup_free_ SchedulerStep *steps = NULL;
        size_t n, most = batch_builder_units_left(b);
        int r = 0;

        pending_round(l, &(PendingView){.batch = b}, scheduler, most, &steps, &n);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = take_step(l, b, &steps[i]);
        if (r < 0)
                return r;
        if (n >= most)
                leader_set_due(l, DUE_PLACEMENT);
        else if (l->n_hosts.unattached == 0) // one of those that this leader has not heard yet may take them
                all_were_tried(l, b);
        return 0;
}

void pending_retire(Leader *l) {
        list_init(&l->preempted);
}
