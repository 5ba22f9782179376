// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the Placement decides about many units at once: who gets what there is, and who would be better off
// elsewhere.
#include <errno.h>

#include "placer-private.h"
#include "placer.h"
#include "rebalance.h"
#include "registry.h"
#include "tables.h"
#include "turn.h"

// ---------------------------------------------------------------------------------------------- rebalancing

typedef struct Question {
        Leader *leader;
        bool (*may_move)(Unit *u, void *userdata);
        void *userdata;
} Question;

static bool ask_about(uint32_t unit, void *userdata) {
        const Question *q = userdata;
        Unit *u = unit_find(q->leader, placement_unit_name(q->leader->places->placement, unit));

        return u && u->place == unit + 1 && q->may_move(u, q->userdata);
}

int placer_rebalance(Placer *p, size_t max_moves, size_t max_tries,
                     bool (*may_move)(Unit *u, void *userdata), void *userdata, PlacerMove **ret,
                     size_t *ret_n, bool *ret_more) {
        Leader *l = p->leader;
        Question question = {l, may_move, userdata};
        RebalanceRules rules = {max_moves, max_tries, ask_about, &question};
        _cleanup_free_ RebalanceMove *moves = NULL;
        PlacerMove *result;
        size_t n;
        int r = rebalance_plan(l->places->placement, &rules, &moves, &n, ret_more);

        if (r < 0)
                return r;
        result = calloc(n + 1, sizeof *result);
        if (!result)
                return -ENOMEM;
        for (size_t i = 0; i < n && r >= 0; i++) {
                result[i].unit = unit_find(l, placement_unit_name(l->places->placement, moves[i].unit));
                result[i].from = l->places->nodes[moves[i].from];
                result[i].to = l->places->nodes[moves[i].to];
                result[i].why = rebalance_why_text(&moves[i]);
                r = result[i].why ? 0 : -ENOMEM;
        }
        if (r < 0) {
                for (size_t i = 0; i < n; i++)
                        free(result[i].why);
                free(result);
                return r;
        }
        *ret = result;
        *ret_n = n;
        return 0;
}

int placer_carry_out(Placer *p, const Unit *u, const Node *to) {
        int r;

        if (!u->place || !to->place)
                return 0;
        r = placer_touch(p, u->name);
        return r < 0 ? r : rebalance_carry_out(p->leader->places->placement, u->place - 1, to->place - 1);
}

// ------------------------------------------------------------------------------------------------ rounds

static int note_released(Placer *p, Unit *u) {
        size_t n = p->n_released;
        Unit **longer = p->released;

        if ((n & (n + 1)) == 0) // 0, 1, 3, 7, ...: twice as long
                longer = realloc(p->released, 2 * (n + 1) * sizeof *longer);
        if (!longer)
                return -ENOMEM;
        p->released = longer;
        longer[p->n_released++] = u;
        return 0;
}

int placer_offer(Placer *p, Unit *u) {
        Leader *l = p->leader;
        int r;

        if (!u->place || !u->node) // without a node it waits anyhow
                return 0;
        r = note_released(p, u);
        return r < 0 ? r : placement_unit_release(l->places->placement, u->place - 1, true);
}

int placer_set_aside(Placer *p, Unit *u) {
        int r = placer_touch(p, u->name);

        if (r < 0 || !u->place || u->node)
                return r;
        return placement_unit_want(p->leader->places->placement, u->place - 1, false);
}

static Unit *unit_at(const Leader *l, uint32_t number) {
        return unit_find(l, placement_unit_name(l->places->placement, number));
}

typedef struct Sparing {
        Leader *leader;
        PlacerSpares spares;
        void *userdata;
} Sparing;

static bool spares(uint32_t unit, const uint32_t *taken, uint32_t n, void *userdata) {
        const Sparing *s = userdata;
        const Unit *u = unit_at(s->leader, unit);
        Unit *others[PLACEMENT_VICTIMS_MAX];

        for (uint32_t i = 0; i < n; i++)
                others[i] = unit_at(s->leader, taken[i]); // each was asked about, so it is there
        return u && s->spares(s->leader, u, others, n, s->userdata);
}

static int take_decision(Placer *p, const PlacementDecision *d, PlacerStep *steps, size_t *n) {
        Leader *l = p->leader;
        PlacerStep step = {.unit = unit_at(l, d->unit)};
        int r = step.unit ? placer_touch(p, step.unit->name) : 0;

        if (!step.unit || r < 0)
                return r;
        if (d->kind == PLACEMENT_PREEMPT)
                step.by = unit_at(l, d->unit_for);
        else
                step.node = l->places->nodes[d->to];
        if (step.by || step.node)
                steps[(*n)++] = step;
        return 0;
}

int placer_round(Placer *p, size_t most, size_t displace, PlacerSpares allow, void *userdata,
                 PlacerStep **ret, size_t *ret_n) {
        Leader *l = p->leader;
        Sparing sparing = {l, allow, userdata};
        PlacementBudget budget = {.decisions = most,
                                  .disruptions = displace,
                                  .spares = spares,
                                  .userdata = &sparing};
        const PlacementDecision *decisions;
        _cleanup_free_ PlacerStep *steps = NULL;
        size_t n;
        int r = placement_round(l->places->placement, leader_now(l), &budget, &decisions, &n);

        *ret_n = 0;
        if (r < 0)
                return r;
        steps = calloc(n + 1, sizeof *steps);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = steps ? take_decision(p, &decisions[i], steps, ret_n) : -ENOMEM;
        if (r < 0)
                return r;
        *ret = TAKE_PTR(steps);
        return 0;
}
