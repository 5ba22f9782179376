// SPDX-License-Identifier: LGPL-2.1-or-later
//
// New content, or a restart, on its way through units that stand in for each other, a few at a time: the
// instances of a template, the nodes of a global unit, or one unit.
//
// The log says what is to be brought, what was there before, and whether it goes forward or back
// (RolloutRecord); how far it has come follows from the units' own records, so a new leader goes on where
// the old one was. A global unit has one record for all nodes: its rollout lists the nodes that had their
// turn, the others keep the content of before (rollout_content()), and its record gets the new content at
// the end.
//
// What is next is rollout-policy.c's to say, looked at whenever something about the units was seen or
// changed, and when a health gate ends. How long a unit is up is said by its host, on its own clock: so the
// gate goes on after a change of leader. Of a host that does not say it the gate is by this leader's clock,
// and begins anew.
#include <errno.h>

#include "batch-builder.h"
#include "disruption-budget.h"
#include "due.h"
#include "event-marks.h"
#include "oom.h"
#include "orders.h"
#include "registry.h"
#include "retry-controller.h"
#include "rollout-content.h"
#include "rollout-controller.h"
#include "rollout-nodes.h"
#include "rollout-order.h"
#include "rollout-private.h"
#include "rollout-sharers.h"
#include "rollout-survey.h"
#include "scheduler.h"
#include "tables.h"
#include "turn.h"
#include "unit-marks.h"
#include "unit-name.h"
#include "walks.h"

// ------------------------------------------------------------------------------------------------ tables

Rollout *rollout_find(const Leader *l, const char *name) {
        const DisruptionBudget *g = disruption_budget_find(l, name);

        return g ? g->rollout : NULL;
}

static void forget(Leader *l, Rollout *o) {
        DisruptionBudget *g = o->budget;

        list_unlink(&o->all);
        g->rollout = NULL;
        retry_controller_on_rollout_end(l);
        rollout_members_done(&o->members);
        rollout_nodes_free(o);
        rollout_sharers_free(o);
        free(o->rows.touched);
        walk_forget(l, &o->walk);
        free(o);
        if (unit_name_kind(g->name, NULL) == UNIT_NAME_TEMPLATE || list_is_empty(&g->units))
                disruption_budget_drop_if_unused(l, g);
        else // it was a group only for this, and ends with its unit
                disruption_budget_leave(l, CONTAINER_OF(g->units.next, Unit, of_budget));
}

static int rollout_begin(Leader *l, const Argosy__RolloutRecord *record) {
        const char *name = record->name;
        DisruptionBudget *g = disruption_budget_get(l, name);
        Unit *u = unit_find(l, name);
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        if (!g)
                return -ENOMEM;
        if (!g->rollout) {
                g->rollout = calloc(1, sizeof(*g->rollout));
                if (!g->rollout) {
                        disruption_budget_drop_if_unused(l, g);
                        return -ENOMEM;
                }
                g->rollout->budget = g;
                rollout_members_init(&g->rollout->members, &g->units);
                list_append(&l->rollouts, &g->rollout->all);
        }
        g->rollout->due = true;
        rollout_sharers_sync(l, g->rollout, record);
        g->rollout->in_place =
                rollout_is_update(record) && rollout_changes_in_place(rollout_spec(l, &record->spec_before),
                                                                      rollout_spec(l, &record->spec));
        if (!u || !e || u->budget)
                return 0;
        // A unit of its own was in no group before: whether it is up was not kept of it.
        if (disruption_budget_join(l, u, e) < 0)
                return -ENOMEM;
        disruption_budget_refresh(l, u);
        return 0;
}

// The nodes of a global unit have got another content each.
static void order_nodes(Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        Unit *u = unit_find(l, name);

        if (!e || !e->record->global || !u)
                return;
        list_foreach (i, &u->on_nodes) { // the patience with those that have their turn now begins
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (!s->up && rollout_content(l, e, s->node->number).revision > s->ordered_revision)
                        s->up_flip_us = leader_now(l);
        }
        orders_on_unit(l, e, u, NULL);
        unit_touch(l, u);
}

// Lists show of the unit that it is about how far it is.
static void mark_event(Leader *l, const char *name) {
        Unit *u = unit_find(l, name);

        if (u)
                event_mark(l, &u->event);
}

static int sync_all(Leader *l) {
        size_t n;
        Argosy__RolloutRecord *const *records = cluster_state_rollouts(l->state, &n);
        int r = 0;

        l->rollouts_revision = cluster_state_rollouts_revision(l->state);
        for (size_t i = 0; i < n; i++) {
                Rollout *o = rollout_find(l, records[i]->name);

                if (rollout_is_under_way(records[i])) {
                        if (rollout_begin(l, records[i]) < 0)
                                r = -ENOMEM;
                } else if (o)
                        forget(l, o);
                else
                        continue;
                mark_event(l, records[i]->name);
                order_nodes(l, records[i]->name);
        }
        return r;
}

int rollout_controller_build(Leader *l) {
        int r = sync_all(l);

        list_foreach (i, &l->rollouts)
                walk_resume(l, &CONTAINER_OF(i, Rollout, all)->walk);
        return r;
}

void rollout_controller_sync(Leader *l) {
        if (l->rollouts_revision != cluster_state_rollouts_revision(l->state))
                (void) oom_check(sync_all(l)); // tables that miss a record would decide wrongly
}

void rollout_controller_retire(Leader *l) {
        rollout_survey_clear(l);
        while (!list_is_empty(&l->rollouts))
                forget(l, CONTAINER_OF(l->rollouts.next, Rollout, all));
}

void rollout_controller_mark_all(Leader *l) {
        list_foreach (i, &l->rollouts)
                CONTAINER_OF(i, Rollout, all)->due = true;
}

static void note_next(Leader *l, uint64_t at_us) {
        if (at_us && (!l->rollout_due_us || at_us < l->rollout_due_us))
                l->rollout_due_us = at_us;
}

void rollout_controller_on_time(Leader *l) {
        uint64_t now = leader_now(l);

        l->rollout_due_us = 0;
        list_foreach (i, &l->rollouts) {
                Rollout *o = CONTAINER_OF(i, Rollout, all);

                if (o->next_us && o->next_us <= now) {
                        o->due = true;
                        o->next_us = 0;
                }
                note_next(l, o->next_us);
        }
}

// ------------------------------------------------------------------------------------------------ steps

static void note_look(Rollout *o, size_t n_items, size_t n_down, size_t left, size_t max, uint64_t next_us) {
        uint64_t shared_us = rollout_sharers_next_us(o);

        o->n_items = n_items;
        o->n_down = n_down;
        o->left = left;
        o->max = max;
        o->next_us = next_us && shared_us ? MIN_OF(next_us, shared_us) : next_us ?: shared_us;
}

// What shares networks with its units has them, too, and is well with them, before it is over.
static int end_with_sharers(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                            const Argosy__RolloutRecord *r, const RolloutSums *sums,
                            Scheduler **scheduler) {
        char cycle[ROLLOUT_REASON_SIZE];
        int k;

        if (rollout_sharers_left(o) > 0)
                return rollout_sharers_step(l, b, o, r, scheduler);
        k = rollout_order_settle(l, planned, b, r, cycle, sizeof(cycle));
        if (k == ROLLOUT_IN_CYCLE)
                return rollout_end_in_cycle(l, b, planned, r, cycle);
        return k < 0 ? k : rollout_finish(l, b, r, sums);
}

// A unit that went along has failed. False: none has; else *ret is what came of it.
static bool fail_for_sharer(Leader *l, BatchBuilder *b, const Rollout *o, const Argosy__RolloutRecord *r,
                            int *ret) {
        const char *why;
        const Unit *u = rollout_sharers_failed(l, o, r, &why);

        if (u && u->node)
                *ret = rollout_fail_unit(l, b, r, u, u->node, why);
        else if (u)
                *ret = rollout_fail(l, b, r, NULL, NULL, why);
        return u;
}

// None of its own goes down before those that went along with others are well.
static bool waits_for_sharers(const Rollout *o, const Argosy__RolloutRecord *r) {
        return !rollout_is_returning(r) && rollout_sharers_are_awaited(o);
}

static void look_on(Leader *l, Rollout *o) {
        o->due = true;
        leader_mark(l);
}

static int step_nodes(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                      const Argosy__RolloutRecord *r, Unit *u, const UnitEntry *e, Scheduler **scheduler) {
        _cleanup_free_ size_t *chosen = NULL;
        char cycle[ROLLOUT_REASON_SIZE];
        RolloutView rules;
        RolloutStep step;
        int k;

        if (!rollout_nodes_look(l, o, r, u, e) || !rollout_sharers_look(l, o, r)) {
                look_on(l, o);
                return 0;
        }
        chosen = calloc(o->nodes->n + 1, sizeof(*chosen));
        if (!chosen)
                return -ENOMEM;
        rules = rollout_rules_of_nodes(l, r, e, o->nodes->items, o->nodes->n);
        step = rollout_policy_step(&rules, chosen);
        note_look(o, o->nodes->n, step.n_down, step.left, rules.max, step.next_us);
        if (step.action == ROLLOUT_FAILED)
                return rollout_fail_unit(l, b, r, u, node_find(l, o->nodes->nodes[step.culprit]),
                                         step.failure);
        if (fail_for_sharer(l, b, o, r, &k))
                return k;
        if (step.action == ROLLOUT_OVER)
                return end_with_sharers(l, b, planned, o, r, &(RolloutSums){}, scheduler);
        if (step.n_chosen == 0 || waits_for_sharers(o, r))
                return 0;
        k = rollout_order_judge(l, planned, b, r, cycle, sizeof(cycle));
        if (k == ROLLOUT_IN_CYCLE)
                return rollout_end_in_cycle(l, b, planned, r, cycle);
        return k < 0 ? k : rollout_change_nodes(l, b, o, r, u, chosen, step.n_chosen, scheduler);
}

static int step_units(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                      const Argosy__RolloutRecord *r, Scheduler **scheduler) {
        RolloutMembers *m = &o->members;
        RolloutView rules;
        RolloutSums sums;
        int k;

        if (!rollout_look(l, o, r) || !rollout_sharers_look(l, o, r)) {
                look_on(l, o);
                return 0;
        }
        rules = rollout_rules(l, o, r);
        sums = rollout_sums(l, b, o, r, &rules);
        note_look(o, m->by_unit.count, sums.down, sums.left, rules.max, deadline_heap_next(&m->deadlines));
        if (!list_is_empty(&m->failed)) {
                const Unit *u = CONTAINER_OF(m->failed.next, RolloutMember, failed)->unit;
                RolloutItem item = rollout_item(l, r, u, batch_builder_has_unit(b, u->name));
                const char *why = rollout_policy_failure(&rules, &item);

                if (why)
                        return rollout_fail_unit(l, b, r, u, u->node, why);
        }
        if (fail_for_sharer(l, b, o, r, &k))
                return k;
        if (sums.left > 0)
                return waits_for_sharers(o, r)
                               ? 0
                               : rollout_change_units(l, b, planned, o, r, &rules, sums, scheduler);
        return end_with_sharers(l, b, planned, o, r, &sums, scheduler);
}

static int take_step(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                     const Argosy__RolloutRecord *r, Scheduler **scheduler) {
        const UnitEntry *e = cluster_state_find_unit(l->state, r->name);
        Unit *u = unit_find(l, r->name);

        if (unit_name_kind(r->name, NULL) != UNIT_NAME_TEMPLATE && !e)
                return rollout_end_without_unit(b, r);
        return e && u && e->record->global ? step_nodes(l, b, planned, o, r, u, e, scheduler)
                                           : step_units(l, b, planned, o, r, scheduler);
}

int rollout_controller_decide(Leader *l, BatchBuilder *b, Dependencies *planned, Scheduler **scheduler,
                              RolloutStepped stepped, void *userdata) {
        l->rollout_due_us = 0;
        list_foreach (i, &l->rollouts) {
                Rollout *o = CONTAINER_OF(i, Rollout, all);
                const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, o->budget->name);
                BatchBuilderMark mark = batch_builder_mark(b);
                size_t n_placed = scheduler_mark(*scheduler);
                int k;

                if (o->due && rollout_is_under_way(r) && l->n_hosts.unattached == 0 &&
                    batch_builder_takes_more(b)) {
                        o->due = false;
                        k = take_step(l, b, planned, o, r, scheduler);
                        if (k >= 0 && scheduler_meets_earlier(*scheduler, n_placed, b, mark))
                                k = -EBUSY; // who came there in this entry goes along in the next one
                        if (k >= 0)
                                k = stepped(r, mark, userdata);
                        if (k == -EBUSY) { // the batch touches its records already
                                batch_builder_rollback(b, mark);
                                scheduler_rollback(*scheduler, n_placed, b);
                                o->due = true;
                        } else if (k < 0)
                                return k;
                }
                note_next(l, o->next_us);
        }
        return 0;
}
