// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Keeps the Placement (placement.h) as the tables are, and asks it.
//
// Units follow their records (scheduler_on_unit). Nodes and hosts that changed are told to it when somebody
// is about to place something (scheduler-nodes.c). What is placed in the course of a batch
// counts at once; whether that came true is the log's to say, so when the Scheduler is freed, all units that
// it touched are again as their records are.
//
// A Scheduler with a copy has nothing to put back: while it is asked, its copy stands in the tables for the
// Placement, and for that long a unit without a number is a provisional unit of the copy. A number is the
// same in both as long as none was given or lost since the copy was made; else it is outdated.
#include <errno.h>

#include "array.h"
#include "data-nodes.h"
#include "due.h"
#include "fleet-units.h"
#include "oom.h"
#include "registry.h"
#include "response.h"
#include "retry-bars.h"
#include "scheduler-private.h"
#include "scheduler-roles.h"
#include "scheduler-spec.h"
#include "scheduler-units.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-record.h"

// ------------------------------------------------------------------------------------------------ placing

void scheduler_touch(Scheduler *p, const char *name) {
        (void) oom_check(ARRAY_RESERVE(p->touched, p->n_touched + 1));
        p->touched[p->n_touched++] = oom_checked(strdup(name));
}

Scheduler *scheduler_new(Leader *l, uint32_t without_host) {
        Scheduler *p = oom_checked(calloc(1, sizeof *p));

        assert(!l->places->is_copy);
        scheduler_sync_nodes(l, without_host);
        scheduler_sync_refusals(l);
        p->leader = l;
        return p;
}

Scheduler *scheduler_new_preview(Leader *l) {
        Scheduler *p = scheduler_new(l, 0);

        p->preview = true;
        placement_preview_begin(l->places->placement);
        return p;
}

Scheduler *scheduler_new_copy(Leader *l) {
        Scheduler *p = scheduler_new(l, 0);

        p->copy = placement_copy_named(l->places->placement);
        p->n_renumbered = l->places->n_renumbered;
        return p;
}

static void exchange(Scheduler *p) {
        SchedulerTables *t = p->leader->places;
        Placement *placement = t->placement;
        Map provisional = t->provisional;

        t->placement = p->copy;
        t->provisional = p->provisional;
        t->is_copy = !t->is_copy;
        p->copy = placement;
        p->provisional = provisional;
}

void scheduler_enter(Scheduler *p) {
        assert(!p->leader->places->is_copy);
        if (p->copy)
                exchange(p);
}

void scheduler_leave(Scheduler *p) {
        SchedulerTables *t = p->leader->places;

        if (!p->copy)
                return;
        exchange(p);
        assert(!t->is_copy);
}

bool scheduler_is_outdated(const Scheduler *p) {
        return p->copy && p->n_renumbered != p->leader->places->n_renumbered;
}

static Scheduler *free_with_copy(Scheduler *p) {
        for (size_t i = 0; i < p->n_touched; i++)
                free(p->touched[i]);
        placement_free(p->copy);
        map_done_with(&p->provisional, free); // after the copy, which has their names
        free(p->touched);
        free(p->released);
        free(p);
        return NULL;
}

// As its record is again, if it has one.
static void put_back(Leader *l, Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        UnitOptions *options = NULL;

        if (e && oom_check(unit_options_of(e, &options)) < 0)
                options = NULL;
        scheduler_on_unit(l, u, e, options);
        unit_options_unref(options);
}

void scheduler_take_back(Scheduler *p, const char *name) {
        Unit *u = unit_find(p->leader, name);

        scheduler_want(p, name, false);
        if (u)
                put_back(p->leader, u);
}

size_t scheduler_mark(const Scheduler *p) {
        return p ? p->n_touched : 0;
}

// What is taken back is noted once more, behind the others.
void scheduler_rollback(Scheduler *p, size_t mark, const BatchBuilder *b) {
        for (size_t i = scheduler_mark(p); i-- > mark;)
                if (!batch_builder_has_unit(b, p->touched[i]))
                        scheduler_take_back(p, p->touched[i]);
}

typedef struct Earlier {
        const BatchBuilder *batch;
        BatchBuilderMark before;
} Earlier;

static bool is_earlier(const char *name, void *userdata) {
        const Earlier *e = userdata;

        return batch_builder_has_unit(e->batch, name) &&
               !batch_builder_has_unit_since(e->batch, name, e->before);
}

bool scheduler_meets_earlier(const Scheduler *p, size_t mark, const BatchBuilder *b,
                             BatchBuilderMark before) {
        Earlier e = {b, before};
        const char *claim;

        for (size_t i = mark; i < scheduler_mark(p); i++)
                if (scheduler_find_other(p->leader, p->touched[i], is_earlier, &e, &claim))
                        return true;
        return false;
}

Scheduler *scheduler_free(Scheduler *p) {
        Leader *l = p ? p->leader : NULL;

        if (p && p->copy)
                return free_with_copy(p);
        for (size_t i = 0; p && i < p->n_touched;
             i++) { // provisional units go first: others may follow them
                ProvisionalUnit *g = map_take_str(&l->places->provisional, p->touched[i]);

                if (g)
                        placement_unit_remove(l->places->placement, g->unit);
                free(g);
        }
        for (size_t i = 0; p && i < p->n_touched; i++) {
                Unit *u = unit_find(l, p->touched[i]);

                if (u) {
                        retry_bars_set(l, u, RETRY_BAR_NONE);
                        put_back(l, u);
                }
                free(p->touched[i]);
        }
        for (size_t i = 0; p && i < p->n_released; i++)
                if (p->released[i]->scheduling.place)
                        placement_unit_release(l->places->placement, p->released[i]->scheduling.place - 1,
                                               false);
        if (p && p->preview)
                placement_preview_end(l->places->placement);
        if (p) {
                free(p->touched);
                free(p->released);
        }
        free(p);
        return NULL;
}

static int explain(Scheduler *p, uint32_t unit, const char *name, SchedulerAnswer *result) {
        Leader *l = p->leader;
        PlacementRefusal *refusals;
        size_t n;
        int r = placement_why(l->places->placement, unit, &refusals, &n);

        for (size_t i = 0; r >= 0 && i < n; i++) {
                const Node *node = l->places->nodes[refusals[i].node];
                const Unit *u = unit_find(l, name);
                const char *why = NULL;
                char failed[SCHEDULER_WHY_SIZE], fleet[SCHEDULER_WHY_SIZE];

                if (refusals[i].kind == PLACEMENT_REASON_EXCLUDED && u && node) {
                        why = unit_exclusion(u, node->number);
                        if (!why && retry_bars_why(l, u, node->number, failed, sizeof failed))
                                why = failed;
                } else if (refusals[i].kind == PLACEMENT_REASON_STATE && node)
                        (void) node_takes_units(node, &why);
                if (refusals[i].kind == PLACEMENT_REASON_EXCLUDED && !why && u &&
                    scheduler_data_why(l, u, failed, sizeof failed))
                        why = failed;
                if (refusals[i].kind == PLACEMENT_REASON_EXCLUDED && !why &&
                    fleet_units_why(l, name, fleet, sizeof fleet))
                        why = fleet;
                r = FIELD_APPEND(result->refusals, result->n_refusals,
                                 refusal_new(node ? node->name : "?", why ?: refusals[i].reason));
        }
        if (r >= 0)
                placement_refusals_free(refusals, n);
        return r;
}

void scheduler_answer_done(SchedulerAnswer *p) {
        for (size_t i = 0; i < p->n_refusals; i++)
                message_free(p->refusals[i]);
        free(p->refusals);
        *p = (SchedulerAnswer){};
}

void scheduler_keep_with(Scheduler *p, const char *name, const UnitOptions *options, const char *activates) {
        Leader *l = p->leader;
        const Unit *u = unit_find(l, name);
        const Node *n = l->places->is_copy ? NULL : data_node_bound(l, activates);

        if (!n || (u && u->scheduling.place) || !n->scheduling.place || !node_admits(l, n, options))
                return;
        scheduler_confine(l, scheduler_get_unit(l, name, true), n);
        scheduler_touch(p, name);
}

static int prepare(Scheduler *p, const char *name, const UnitOptions *options, uint32_t *ret) {
        *ret = scheduler_get_unit(p->leader, name, true);
        scheduler_touch(p, name);
        return scheduler_set_options(p->leader, name, *ret, options);
}

void scheduler_know(Scheduler *p, const char *name, const UnitOptions *options) {
        uint32_t unit;

        (void) prepare(p, name, options, &unit); // what is wrong is said where it is placed
}

void scheduler_put(Scheduler *p, const char *name, const UnitOptions *options, uint32_t node) {
        const Node *n = node_find(p->leader, node);
        Placement *placement = p->leader->places->placement;
        uint32_t unit = scheduler_get_unit(p->leader, name, true);

        scheduler_touch(p, name);
        (void) scheduler_set_options(p->leader, name, unit, options); // what cannot be counted counts as
                                                                      // nothing
        if (n && n->scheduling.place)
                placement_unit_put(placement, unit, n->scheduling.place - 1);
        placement_unit_want(placement, unit, true);
}

// Where it has failed only if it would be on no node otherwise.
static uint32_t find_node(Leader *l, const char *name, uint32_t unit) {
        const Unit *u = unit_find(l, name);

        for (RetryBar bar = retry_bars_first(u);; bar++) {
                uint32_t node;

                retry_bars_set(l, u, bar);
                node = placement_move(l->places->placement, unit, leader_now(l));
                if (node != PLACEMENT_NONE || bar == retry_bars_last(u))
                        return node;
        }
}

void scheduler_penalise(Leader *l, const Node *n, uint32_t points, uint64_t half_us) {
        if (n->host->scheduling.place)
                placement_host_penalise(l->places->placement, n->host->scheduling.place - 1, points, half_us,
                                        leader_now(l));
}

void scheduler_note_placements(const Scheduler *p, size_t n, uint64_t began_us) {
        Leader *l = p->leader;

        if (p->copy || p->preview)
                return; // what is only said to be possible
        l->n_placements += n;
        time_histogram_add(&l->placement_times, leader_now(l) - began_us);
}

static int explain_all(Scheduler *p, uint32_t unit, const char *name, SchedulerAnswer *result) {
        int r;

        (void) scheduler_role_refuses(p->leader, unit, result->why, sizeof result->why);
        r = explain(p, unit, name, result);
        if (r < 0)
                scheduler_answer_done(result);
        return r;
}

int scheduler_explain(Scheduler *p, const char *name, SchedulerAnswer *ret) {
        *ret = (SchedulerAnswer){};
        return explain_all(p, scheduler_get_unit(p->leader, name, true), name, ret);
}

int scheduler_place(Scheduler *p, const char *name, const UnitOptions *options, bool want_reasons,
                    SchedulerAnswer *ret) {
        Leader *l = p->leader;
        SchedulerAnswer result = {};
        uint64_t began_us = leader_now(l);
        uint32_t unit, node;
        int r = prepare(p, name, options, &unit);

        if (r < 0)
                return r;
        result.too_many_tied = r == SCHEDULER_TOO_MANY_TIED;
        placement_unit_want(l->places->placement, unit, true);
        node = find_node(l, name, unit);
        scheduler_note_placements(p, node != PLACEMENT_NONE, began_us);
        if (node != PLACEMENT_NONE) {
                result.node = l->places->nodes[node]->number;
                scheduler_refresh_colocated(l, unit);
        }
        result.possible = placement_class_possible(l->places->placement,
                                                   placement_unit_class(l->places->placement, unit));
        if (!result.node && want_reasons) {
                r = explain_all(p, unit, name, &result);
                if (r < 0)
                        return r;
        }
        *ret = result;
        return 0;
}

// Keeps the unit off the nodes that do not admit its mate, or lets it there again: all but those that refuse
// it anyway.
static void bar_nodes_of_mate(Leader *l, const char *name, uint32_t unit, const UnitOptions *mate,
                              bool bar) {
        const Unit *u = unit_find(l, name);

        for (uint32_t i = 0; i < l->places->n_nodes; i++) {
                const Node *n = l->places->nodes[i];

                if (!n || node_admits(l, n, mate) || (u && unit_exclusion(u, n->number)) ||
                    fleet_units_bars(l, name, n))
                        continue;
                if (bar)
                        placement_unit_exclude(l->places->placement, unit, i);
                else
                        placement_unit_readmit(l->places->placement, unit, i);
        }
}

int scheduler_place_for_both(Scheduler *p, const char *name, const UnitOptions *options,
                             const UnitOptions *mate, SchedulerAnswer *ret) {
        Leader *l = p->leader;
        uint64_t began_us = leader_now(l);
        uint32_t unit, node = PLACEMENT_NONE;
        int r = prepare(p, name, options, &unit);

        *ret = (SchedulerAnswer){};
        if (r >= 0 && r != SCHEDULER_TOO_MANY_TIED)
                r = scheduler_add_affinity(l, name, unit, mate->same_node);
        if (r < 0 || r == SCHEDULER_TOO_MANY_TIED)
                return MIN_OF(r, 0);
        placement_unit_want(l->places->placement, unit, true);
        bar_nodes_of_mate(l, name, unit, mate, true);
        node = find_node(l, name, unit);
        bar_nodes_of_mate(l, name, unit, mate, false);
        scheduler_note_placements(p, node != PLACEMENT_NONE, began_us);
        if (node != PLACEMENT_NONE) {
                ret->node = l->places->nodes[node]->number;
                ret->possible = true;
                scheduler_refresh_colocated(l, unit);
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ why

static int why_unplaced(const Leader *l, const UnitEntry *e, char **ret) {
        const Unit *u = unit_find(l, e->record->name);
        char why[SCHEDULER_WHY_SIZE];

        if (u && (scheduler_held_back(l, u, why, sizeof why) || scheduler_data_why(l, u, why, sizeof why)))
                *ret = strdup(why);
        else if (*e->record->displaced_by)
                *ret = str_printf("%s, which has a higher priority, took its place; no node takes it now",
                                  e->record->displaced_by);
        else
                *ret = strdup("no node takes it at present");
        return *ret ? 0 : -ENOMEM;
}

// It demands something that cannot be counted any more: that is so on every node.
static int explain_uncountable(Leader *l, SchedulerAnswer *result) {
        int r = 0;

        for (size_t i = 0; i < l->places->n_nodes && r >= 0; i++)
                if (l->places->nodes[i])
                        r = FIELD_APPEND(result->refusals, result->n_refusals,
                                         refusal_new(l->places->nodes[i]->name, SCHEDULER_UNCOUNTABLE));
        return r;
}

// Why a unit that is to run has no node that it could run on.
int unit_why(Leader *l, const UnitEntry *e, char **ret_why, Argosy__Refusal ***ret, size_t *ret_n) {
        _cleanup_(scheduler_freep) Scheduler *p = NULL;
        const Unit *u = unit_find(l, e->record->name);
        UnitOptions *options = NULL;
        SchedulerAnswer place = {};
        uint32_t unit;
        int r;

        r = unit_options_of(e, &options);
        if (r >= 0) {
                p = scheduler_new(l, 0);
                r = prepare(p, e->record->name, options, &unit);
        }
        if (r >= 0 && retry_is_stuck(u))
                retry_bars_set(l, u, RETRY_BAR_LIMIT);
        if (r >= 0)
                r = explain(p, unit, e->record->name, &place);
        unit_options_unref(options);
        if (r == -ENOSPC || r == -EINVAL)
                r = explain_uncountable(l, &place);
        r = r < 0 ? r : why_unplaced(l, e, ret_why);
        if (r < 0) {
                scheduler_answer_done(&place);
                return r;
        }
        *ret = place.refusals;
        *ret_n = place.n_refusals;
        return 0;
}

// ------------------------------------------------------------------------------------------------ life

void scheduler_open(Leader *l) {
        SchedulerTables *t = oom_checked(calloc(1, sizeof *t));
        int r;

        (void) leader_take_due(l, DUE_LABELS); // of the term before
        l->places = t;
        t->placement = placement_new();
        (void) scheduler_sync_roles(l);
        r = placement_class_get(t->placement, &(PlacementSpec){}, &t->anything);
        assert(r == 0); // it names nothing of which there may be too many
}

SchedulerTables *scheduler_close(Leader *l) {
        map_foreach (slot, &l->hosts)
                ((Host *) slot->value)->scheduling.place = 0;
        if (l->places)
                // options are shared with the records, the tables go to the pool
                scheduler_forget_classes(l->places);
        return TAKE_PTR(l->places);
}

SchedulerTables *scheduler_tables_free(SchedulerTables *t) {
        map_done_with(&t->provisional, free);
        placement_free(t->placement);
        scheduler_roles_done(t);
        free(t->nodes);
        free(t);
        return NULL;
}
