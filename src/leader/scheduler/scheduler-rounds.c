// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the Placement decides about many units at once: who gets what there is, and in which order.
//
// Happy path: units that take part are offered (or wanted) for as long as the Scheduler lives; a round then
// decides in the order of the Placement's queue, and each step is told in the words of the tables. A unit
// that a step names may have no record yet; a unit that may be preempted has one.
#include "array.h"
#include "oom.h"
#include "registry.h"
#include "scheduler-private.h"
#include "scheduler-roles.h"
#include "scheduler.h"
#include "tables.h"
#include "turn.h"

static void note_released(Scheduler *p, Unit *u) {
        (void) oom_check(ARRAY_RESERVE(p->released, p->n_released + 1));
        p->released[p->n_released++] = u;
}

void scheduler_offer(Scheduler *p, Unit *u) {
        Leader *l = p->leader;

        if (!u->scheduling.place || !u->node) // without a node it waits anyhow
                return;
        note_released(p, u);
        placement_unit_release(l->places->placement, u->scheduling.place - 1, true);
}

void scheduler_want(Scheduler *p, const char *name, bool wanted) {
        uint32_t unit = scheduler_get_unit(p->leader, name, true);

        scheduler_touch(p, name);
        placement_unit_want(p->leader->places->placement, unit, wanted);
}

void scheduler_take_off(Scheduler *p, const char *name, uint32_t node) {
        Leader *l = p->leader;
        const Node *n = node ? node_find(l, node) : NULL;

        if (n && n->scheduling.place)
                placement_unit_put(l->places->placement, scheduler_get_unit(l, name, true),
                                   n->scheduling.place - 1);
        scheduler_want(p, name, false);
}

bool scheduler_drive(Scheduler *p, const char *name, uint32_t *ret_node) {
        Leader *l = p->leader;
        uint32_t unit = scheduler_get_unit(l, name, true), node;

        if (!placement_unit_must_go(l->places->placement, unit))
                return false;
        scheduler_touch(p, name);
        node = placement_move(l->places->placement, unit, leader_now(l));
        *ret_node = node == PLACEMENT_NONE ? 0 : l->places->nodes[node]->number;
        return true;
}

uint32_t scheduler_role(const Scheduler *p, const UnitOptions *options) {
        return scheduler_role_of(p->leader->places, options);
}

bool scheduler_role_before(const Scheduler *p, uint32_t a, uint32_t b) {
        return placement_role_before(p->leader->places->placement, a, b);
}

// What nobody offers, or cannot be counted any more, is no share of anything.
static uint32_t share_of(const Placement *p, int resource, uint32_t amount) {
        int64_t capacity = resource < 0 ? 0 : placement_capacity(p, (unsigned) resource);

        return capacity <= 0
                       ? 0
                       : (uint32_t) MIN_OF((int64_t) amount * 1000000 / capacity, (int64_t) UINT32_MAX);
}

uint32_t scheduler_share(Scheduler *p, const UnitOptions *options) {
        Placement *placement = p->leader->places->placement;
        bool refresh = false;
        uint32_t most;

        // what is named for the first time is counted from now on
        for (size_t i = 0; i < options->n_reserves; i++) {
                bool new = false;

                refresh |= placement_resource(placement, options->reserves[i].name, &new) >= 0 && new;
        }
        if (refresh)
                scheduler_sync_all_offers(p->leader);
        most = MAX_OF(share_of(placement, PLACEMENT_CPU, options->cpu_milli),
                      share_of(placement, PLACEMENT_MEMORY, options->memory_mib));
        for (size_t i = 0; i < options->n_reserves; i++) {
                int resource = placement_find_resource(placement, options->reserves[i].name);

                most = MAX_OF(most, share_of(placement, resource, options->reserves[i].amount));
        }
        return most;
}

Unit *scheduler_unit_at(const Leader *l, uint32_t number) {
        return unit_find(l, placement_unit_name(l->places->placement, number));
}

typedef struct Sparing {
        Leader *leader;
        SchedulerSpares spares;
        void *userdata;
} Sparing;

static bool spares(uint32_t unit, const uint32_t *taken, uint32_t n, void *userdata) {
        const Sparing *s = userdata;
        const Unit *u = scheduler_unit_at(s->leader, unit);
        Unit *others[PLACEMENT_VICTIMS_MAX];
        size_t n_others = 0;

        for (uint32_t i = 0; i < n; i++) { // each was asked about, so it is there, or has no record yet
                Unit *other = scheduler_unit_at(s->leader, taken[i]);

                if (other)
                        others[n_others++] = other;
        }
        return !u || s->spares(s->leader, u, others, n_others, s->userdata);
}

static void take_decision(Scheduler *p, const PlacementDecision *d, SchedulerStep *steps, size_t *n) {
        Leader *l = p->leader;
        SchedulerStep step = {.name = placement_unit_name(l->places->placement, d->unit),
                              .unit = scheduler_unit_at(l, d->unit)};

        scheduler_touch(p, step.name);
        if (d->kind == PLACEMENT_PREEMPT)
                step.by = placement_unit_name(l->places->placement, d->unit_for);
        else
                step.node = l->places->nodes[d->to];
        if (step.by || step.node)
                steps[(*n)++] = step;
}

void scheduler_round(Scheduler *p, size_t most, size_t preempt, SchedulerSpares allow, void *userdata,
                     SchedulerStep **ret, size_t *ret_n) {
        Leader *l = p->leader;
        Sparing sparing = {l, allow, userdata};
        PlacementBudget budget = {
                .decisions = most, .disruptions = preempt, .spares = spares, .userdata = &sparing};
        const PlacementDecision *decisions;
        uint64_t began_us = leader_now(l);
        size_t n, n_placed = 0;

        placement_round(l->places->placement, leader_now(l), &budget, &decisions, &n);
        *ret_n = 0;
        *ret = oom_checked(calloc(n + 1, sizeof **ret));
        for (size_t i = 0; i < n; i++)
                take_decision(p, &decisions[i], *ret, ret_n);
        for (size_t i = 0; i < *ret_n; i++)
                n_placed += (*ret)[i].node != NULL;
        scheduler_note_placements(p, n_placed, began_us);
}
