// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that stand in for each other: the instances of one template. How many of them are down is counted
// when one was touched, before anything is decided in a turn (reconcile.c), so that a drain or a rollout
// that wants to take one down knows at once whether there is room for it. What is down for another reason,
// such as a lost node or a failure, takes up room too.
//
// "Down" is everything that is not seen to run as its record says, so also what a new leader has not heard
// of yet, and what was ordered a moment ago.
//
// Between begin and end of a plan (preview.c) everything that is asked here is answered as if what was
// planned so far were so. A plan counts beside what is, under a number of its own, so nothing is left of it
// when it ends.
#include <assert.h>
#include <errno.h>

#include "batch-builder.h"
#include "budget-dependents.h"
#include "disruption-budget.h"
#include "group-contents.h"
#include "host-marks.h"
#include "nodes.h"
#include "registry.h"
#include "rollout-content.h"
#include "tables.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-file.h"
#include "unit-name.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-work.h"

enum { WOKEN_UNITS = 256 };

static void refresh_unit_on_node(Leader *l, UnitOnNode *s, const UnitEntry *e) {
        bool up = e && unit_on_node_is_up(l, s, e);

        if (up == s->up && (!up || s->run_counted))
                return;
        s->up = up;
        s->run_counted = true;
        s->up_flip_us = leader_now(l);
}

// ------------------------------------------------------------------------------------------------ groups

DisruptionBudget *disruption_budget_find(const Leader *l, const char *name) {
        return map_find_str(&l->budgets, name);
}

DisruptionBudget *disruption_budget_get(Leader *l, const char *name) {
        DisruptionBudget *g = disruption_budget_find(l, name);

        if (g)
                return g;
        g = calloc(1, sizeof(*g));
        if (!g)
                return NULL;
        g->name = strdup(name);
        g->revision = cluster_state_left_revision(l->state); // who was in it before nobody knows
        list_init(&g->units);
        list_init(&g->waiting);
        list_init(&g->recovering_walk);
        if (!g->name || map_add_str(&l->budgets, g->name, g) < 0) {
                free(g->name);
                free(g);
                return NULL;
        }
        return g;
}

void disruption_budget_discard(DisruptionBudget *g) {
        map_done_with(&g->contents, free);
        free(g->name);
        free(g);
}

void disruption_budget_drop_if_unused(Leader *l, DisruptionBudget *g) {
        if (!list_is_empty(&g->units) || g->rollout || g->survey)
                return;
        while (!list_is_empty(&g->waiting)) // others, for what goes down with them
                unit_event(l, CONTAINER_OF(g->waiting.next, UnitWork, queue)->unit, LIFE_RECONSIDER_ANYWAY);
        list_unlink(&g->recovering_walk);
        map_take_str(&l->budgets, g->name);
        disruption_budget_discard(g);
}

// Room may have come: units that wait for it ask again. Of thousands only the first: room for more of them
// comes with more changes, and a unit that asks in vain waits behind the others.
static void changed(Leader *l, DisruptionBudget *g) {
        if (g->rollout)
                g->rollout->due = true;
        list_foreach (i, &l->rollouts) {
                Rollout *o = CONTAINER_OF(i, Rollout, all);

                o->due |= o->held;
                o->held = false;
        }
        for (unsigned n = 0; n < WOKEN_UNITS && !list_is_empty(&g->waiting); n++)
                unit_event(l, CONTAINER_OF(g->waiting.next, UnitWork, queue)->unit, LIFE_RECONSIDER_ANYWAY);
        leader_mark(l);
}

static void count(Leader *l, Unit *u, bool counted, bool down) {
        DisruptionBudget *g = u->budget;

        if (counted == u->counted && down == u->down)
                return;
        g->n_launched = g->n_launched - u->counted + counted;
        g->n_down = g->n_down - u->down + down;
        u->counted = counted;
        u->down = down;
        changed(l, g);
}

// It runs, and was told anew that it is to: that it has not answered yet is no reason to take it for down.
static bool runs_on(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        Content c = rollout_content(l, e, s->node->number);

        return unit_on_node_is_reported(s) && !s->node->reason && active_state_is_up(s->active) &&
               s->revision >= c.restart_rev && hash_equal(unit_on_node_seen(s), &c.spec->hash);
}

bool disruption_budget_is_settled(const Leader *l, const Unit *u, const Node *n) {
        const UnitEntry *e = u->recorded ? cluster_state_find_unit(l->state, u->name) : NULL;
        const UnitOnNode *s = unit_on_node_find(u, n);

        if (!e || !s || e->removed || !(e->record->global || u->node == n))
                return false;
        if (e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED)
                return runs_on(l, s, e);
        return e->record->target == ARGOSY__TARGET__TARGET_LOADED && s->revision >= e->record->revision;
}

// What its host has not told yet, since its link broke or the leader is a new one, may well run.
static bool is_known_to_be_down(const Leader *l, const Unit *u, const UnitEntry *e) {
        const UnitOnNode *s;

        if (!u->down || !u->node || !u->node->host->attached)
                return false;
        s = unit_on_node_find(u, u->node);
        return !s || !runs_on(l, s, e);
}

// Has walks through the group look at the unit again, also those that have passed it.
static void mark_member(Unit *u) {
        DisruptionBudget *g = u->budget;

        if (g->survey)
                rollout_members_mark(g->survey, u);
        if (!g->rollout)
                return;
        rollout_members_mark(&g->rollout->members, u);
        g->rollout->due = true;
}

// Refreshes the touched rows of a global unit that is being rolled out, which is on no node by its record.
// False: all are to be looked at.
static bool refresh_touched_rows(Leader *l, Unit *u, const UnitEntry *e) {
        const RolloutRows *rows = u->budget->rollout ? &u->budget->rollout->rows : NULL;

        if (!rows || !rows->kept || rows->all)
                return false;
        for (size_t i = 0; i < rows->n; i++) {
                const Node *n = node_find(l, rows->touched[i]);
                UnitOnNode *s = n ? unit_on_node_find(u, n) : NULL;

                if (s)
                        refresh_unit_on_node(l, s, e);
        }
        return true;
}

void disruption_budget_refresh(Leader *l, Unit *u) {
        const UnitEntry *e;
        bool counted, up = false;

        if (!u->budget)
                return;
        e = u->recorded ? cluster_state_find_unit(l->state, u->name) : NULL;
        counted = e && e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED && !e->record->global &&
                  !record_final_outcome(e->record, e->record->node);
        if (!refresh_touched_rows(l, u, e))
                list_foreach (i, &u->on_nodes) {
                        UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                        refresh_unit_on_node(l, s, e);
                        up |= s->up && s->node == u->node;
                }
        count(l, u, counted, counted && (!up || budget_dependents_goes_down(l, u)));
        if (u->life == LIFE_HELD && is_known_to_be_down(l, u, e)) // it takes nothing of the budget to leave
                unit_event(l, u, LIFE_RECONSIDER_ANYWAY);
        mark_member(u);
        if (u->budget->rollout)
                leader_mark(l);
}

void disruption_budget_follow(Leader *l, Unit *u) {
        const UnitEntry *e = u->recorded ? cluster_state_find_unit(l->state, u->name) : NULL;

        if (!u->budget)
                list_foreach (i, &u->on_nodes)
                        refresh_unit_on_node(l, CONTAINER_OF(i, UnitOnNode, by_unit), e);
}

// That a unit has left it is a change of the group, too: the unit is gone, or is by that revision elsewhere.
static void note_left(const Leader *l, DisruptionBudget *g, const Unit *u) {
        const UnitEntry *e = u->recorded ? cluster_state_find_unit(l->state, u->name) : NULL;

        g->revision =
                MAX_OF(g->revision, e ? e->record->revision : cluster_state_left_revision(l->state));
}

void disruption_budget_leave(Leader *l, Unit *u) {
        DisruptionBudget *g = u->budget;

        if (!g)
                return;
        note_left(l, g, u);
        count(l, u, false, false);
        group_contents_forget(u);
        if (g->survey)
                rollout_members_forget(g->survey, u);
        if (g->rollout) {
                rollout_members_forget(&g->rollout->members, u);
                g->rollout->due = true;
        }
        g->n_recovering -= u->recovering;
        u->recovering = false;
        if (g->recovering_at == &u->of_budget)
                g->recovering_at = u->of_budget.next;
        list_unlink(&u->of_budget);
        u->budget = NULL;
        disruption_budget_drop_if_unused(l, g);
}

int disruption_budget_join(Leader *l, Unit *u, const UnitEntry *e) {
        _cleanup_free_ char *template = NULL;
        UnitNameKind kind = unit_name_kind(u->name, NULL);
        DisruptionBudget *g = NULL;

        if (!e->removed && !e->record->global && kind == UNIT_NAME_INSTANCE) {
                template = unit_name_template(u->name);
                g = template ? disruption_budget_get(l, template) : NULL;
                if (!g)
                        return -ENOMEM;
        } else if (!e->removed && kind != UNIT_NAME_TEMPLATE)
                g = disruption_budget_find(l, u->name);
        if (g != u->budget) {
                disruption_budget_leave(l, u);
                u->budget = g;
                if (g) {
                        list_append(&g->units, &u->of_budget);
                        mark_member(u);
                }
        }
        if (u->budget)
                group_contents_note(u, e);
        return 0;
}

int disruption_budget_on_unit(Leader *l, Unit *u, const UnitEntry *e) {
        int r = disruption_budget_join(l, u, e);

        if (r < 0 || !u->budget)
                return r;
        list_foreach (i, &u->on_nodes) { // what it is to be has changed: its patience and its health begin
                                         // anew
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                s->up = false;
                s->up_flip_us = leader_now(l);
        }
        changed(l, u->budget);
        mark_member(u);
        return 0;
}

// ------------------------------------------------------------------------------------------------ budget

// Whether the plan in the making is about the group.
static bool is_planned(const Leader *l, const DisruptionBudget *g) {
        return l->plans && g->plan == l->n_plans;
}

static size_t count_launched(const Leader *l, const DisruptionBudget *g) {
        return g->n_launched + (size_t) (is_planned(l, g) ? g->planned_launched : 0);
}

size_t disruption_budget_max(const Leader *l, const DisruptionBudget *g, const UnitEntry *e) {
        const UnitFile *file;

        if (spec_entry_file(e->spec, &file) < 0)
                return SIZE_MAX;
        return unit_share_of(file->max_unavailable, count_launched(l, g));
}

static size_t count_taken(const Leader *l, const DisruptionBudget *g) {
        return g->batch == l->n_batches ? g->n_taken : 0;
}

// Those that are down, and those that will be.
static size_t count_down(const Leader *l, const DisruptionBudget *g) {
        return g->n_down + count_taken(l, g) + (size_t) (is_planned(l, g) ? g->planned_down : 0);
}

size_t disruption_budget_room(const Leader *l, const DisruptionBudget *g, const UnitEntry *e) {
        size_t max = disruption_budget_max(l, g, e), n_down = count_down(l, g);

        return max == SIZE_MAX ? SIZE_MAX : max > n_down ? max - n_down : 0;
}

void disruption_budget_take_one(Leader *l, Unit *u) {
        DisruptionBudget *g = u->budget;

        if (!g || !u->counted || u->down)
                return;
        g->n_taken = count_taken(l, g) + 1;
        g->batch = l->n_batches;
}

void disruption_budget_take(Leader *l, Unit *u) {
        disruption_budget_take_one(l, u);
        budget_dependents_take(l, u, u->node);
}

DisruptionBudget *disruption_budget_in_the_way(const Leader *l, const Unit *u, const UnitEntry *e) {
        if (u->budget && u->counted && !is_known_to_be_down(l, u, e) &&
            disruption_budget_room(l, u->budget, e) == 0)
                return u->budget;
        return budget_dependents_in_the_way(l, u, u->node);
}

bool disruption_budget_allows(const Leader *l, const Unit *u, const UnitEntry *e) {
        return !disruption_budget_in_the_way(l, u, e);
}

bool disruption_budget_keeps(const Leader *l, const Unit *u, const UnitEntry *e, bool replaced) {
        return u->node && (replaced || unit_has_to_leave(u, e)) && !host_is_lost(u->node->host) &&
               !node_deadline_is_over(l, u->node) && !unit_exclusion(u, u->node->number) &&
               !disruption_budget_allows(l, u, e);
}

bool disruption_budget_holds_back(const Unit *u) {
        return u->life == LIFE_HELD;
}

// ------------------------------------------------------------------------------------------------ plans

void disruption_budget_plan_begin(Leader *l) {
        assert(!l->plans);
        l->n_plans++;
        l->plans = true;
}

void disruption_budget_plan_end(Leader *l) {
        assert(l->plans);
        l->plans = false;
}

int disruption_budget_plan_join(Leader *l, const char *name, BudgetShare *ret) {
        _cleanup_free_ char *template = NULL;
        const Unit *u = unit_find(l, name);
        DisruptionBudget *g = u ? u->budget : NULL;

        *ret = (BudgetShare){};
        if (!g && unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE) {
                template = unit_name_template(name);
                if (!template)
                        return -ENOMEM;
                g = disruption_budget_find(l, template);
        }
        if (!g)
                return BUDGET_NONE;
        *ret = (BudgetShare){g, u && u->budget && u->counted, u && u->budget && u->down};
        if (is_planned(l, g))
                return BUDGET_JOINED;
        g->plan = l->n_plans;
        g->planned_launched = g->planned_down = 0;
        return BUDGET_JOINED_FIRST;
}

void disruption_budget_plan(BudgetShare *share, bool counted, bool is_down) {
        DisruptionBudget *g = share->budget;

        if (!g)
                return;
        g->planned_launched += counted - share->counted;
        g->planned_down += is_down - share->down;
        share->counted = counted;
        share->down = is_down;
}
