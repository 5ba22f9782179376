// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random clusters and random events, each decision compared with brute force. A failing seed is printed.
#include "test.h"

#include <stdio.h>

#include "../../../src/placement/placement-private.h"
#include "../../lib/brute-placement.h"
#include "random-numbers.h"

enum { NODES_MAX = 14, SPECS = 14, UNITS_MAX = 60, NAME_MAX_ = 16, LABELS = 3 };

typedef struct World {
        uint64_t seed;
        Placement *p;
        Brute brute;
        uint32_t role, nodes[NODES_MAX], n_nodes, n_hosts;
        PlacementLabel labels[NODES_MAX][LABELS];
        size_t n_labels[NODES_MAX];
        PlacementTerm terms[SPECS][2], preferences[SPECS][PLACEMENT_PREFERENCES_MAX];
        PlacementSpec specs[SPECS];
        uint32_t classes[SPECS];
        char names[UNITS_MAX][NAME_MAX_];
        uint32_t handles[UNITS_MAX]; // PLACEMENT_NONE: free
        uint64_t now_us, trace;
        uint32_t n_kept; // rounds in which there was a reservation
} World;

static uint64_t next(World *w) {
        return xorshift64(&w->seed);
}

static unsigned roll(World *w, unsigned n) {
        return (unsigned) (next(w) >> 11) % n;
}

static const char *const zones[] = {"a", "b", "c"}, *const disks[] = {"ssd", "hdd"};
static const char *const zone_a_or_b[] = {"a", "b", NULL}, *const ssd[] = {"ssd", NULL},
                         *const c_only[] = {"c", NULL}, *const like_hd[] = {"h?d", "?", NULL},
                         *const like_a_or_c[] = {"[ac]*", NULL};
static const char *const hates_even[] = {"u?[02468].service", NULL}, *const hates_u1[] = {"u1*.service",
                                                                                          "nobody*", NULL};

static void make_labels(World *w, uint32_t i) {
        size_t n = 0;

        if (roll(w, 5))
                w->labels[i][n++] = (PlacementLabel){"zone", zones[roll(w, 3)]};
        if (roll(w, 3))
                w->labels[i][n++] = (PlacementLabel){"disk", disks[roll(w, 2)]};
        w->n_labels[i] = n;
}

static PlacementTerm make_term(World *w) {
        switch (roll(w, 7)) {
        case 0:
                return (PlacementTerm){LABEL_IN, "zone", zone_a_or_b};
        case 1:
                return (PlacementTerm){LABEL_NOT_IN, "zone", c_only};
        case 2:
                return (PlacementTerm){LABEL_EXISTS, "disk", NULL};
        case 3:
                return (PlacementTerm){LABEL_ABSENT, "disk", NULL};
        case 4:
                return (PlacementTerm){LABEL_LIKE, "disk", like_hd};
        case 5:
                return (PlacementTerm){LABEL_LIKE, "zone", like_a_or_c};
        default:
                return (PlacementTerm){LABEL_IN, "disk", ssd};
        }
}

static void make_spec(World *w, int i) {
        static const char *const groups[] = {"g1", "g2"};
        PlacementSpec *s = &w->specs[i];

        *s = (PlacementSpec){.terms = w->terms[i], .preferences = w->preferences[i]};
        s->demand.of[PLACEMENT_CPU] = (int32_t) roll(w, 4) * 250;
        s->demand.of[PLACEMENT_MEMORY] = (int32_t) roll(w, 4) * 100;
        s->demand.of[2] = roll(w, 6) == 0;
        s->n_terms = roll(w, 3);
        for (size_t k = 0; k < s->n_terms; k++)
                w->terms[i][k] = make_term(w);
        s->n_preferences = roll(w, 3) ? 0 : roll(w, 4);
        for (size_t k = 0; k < s->n_preferences; k++) {
                w->preferences[i][k] = make_term(w);
                s->weights[k] = (uint16_t) (1 + roll(w, 300));
        }
        s->conflicts = roll(w, 4) ? NULL : roll(w, 2) ? hates_even : hates_u1;
        if (roll(w, 3) == 0) {
                s->spread = roll(w, 2) ? "zone" : "disk";
                s->spread_group = groups[roll(w, 2)];
                s->spread_soft = roll(w, 2);
                s->spread_skew = (uint16_t) roll(w, 3);
        }
        s->policy = roll(w, 4) ? PLACEMENT_LEAST_LOADED : PLACEMENT_BEST_FIT;
}

static void add_host(World *w) {
        PlacementVector offers = {{(int32_t) (1 + roll(w, 5)) * 1000, (int32_t) (1 + roll(w, 5)) * 300}};
        uint32_t host, n = 1 + (roll(w, 4) == 0), size = PLACEMENT_SIZE_ONE * (1 + roll(w, 2));

        offers.of[2] = (int32_t) roll(w, 3);
        placement_host_add(w->p, &offers, size, &host);
        brute_host(&w->brute, host, &offers, size);
        for (; n > 0 && w->n_nodes < NODES_MAX; n--) {
                uint32_t i = w->n_nodes;

                make_labels(w, i);
                placement_node_add(w->p, host, w->labels[i], w->n_labels[i], &w->nodes[i]);
                assert_int_equal(w->nodes[i], i);
                brute_node(&w->brute, i, host, w->labels[i], w->n_labels[i]);
                w->brute.nodes[i].state = PLACEMENT_OPEN;
                placement_node_set_state(w->p, i, PLACEMENT_OPEN);
                w->n_nodes++;
        }
}

static void world_init(World *w, uint64_t seed) {
        PlacementRole role = {.weight = 1};

        *w = (World){.seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
        for (int i = 0; i < PLACEMENT_RESOURCES_MAX; i++)
                role.limit[i] = -1;
        w->p = placement_new();
        assert_int_equal(placement_resource(w->p, "gpu", NULL), 2);
        assert_int_equal(placement_role_add(w->p, &role, &w->role), 0);
        for (uint32_t n = 2 + roll(w, 8); n > 0; n--)
                add_host(w);
        for (int i = 0; i < SPECS; i++) {
                make_spec(w, i);
                assert_int_equal(placement_class_get(w->p, &w->specs[i], &w->classes[i]), 0);
        }
        for (int i = 0; i < UNITS_MAX; i++) {
                snprintf(w->names[i], sizeof w->names[i], "u%d.service", i);
                w->handles[i] = PLACEMENT_NONE;
        }
}

static void world_done(World *w) {
        placement_free(w->p);
        brute_done(&w->brute);
}

// ------------------------------------------------------------------------------------------------ events

static void add_unit(World *w, int i) {
        int spec = (int) roll(w, SPECS);
        uint32_t *u = &w->handles[i];

        placement_unit_add(w->p, w->names[i], w->classes[spec], w->role, 0, u);
        placement_unit_want(w->p, *u, true);
        brute_unit(&w->brute, *u, w->names[i], &w->specs[spec]);
}

static void remove_unit(World *w, int i) {
        placement_unit_remove(w->p, w->handles[i]);
        brute_drop(&w->brute, w->handles[i]);
        w->handles[i] = PLACEMENT_NONE;
}

static void toggle_unit(World *w, int i) {
        BruteUnit *u = &w->brute.units[w->handles[i]];

        u->wanted = !u->wanted;
        placement_unit_want(w->p, w->handles[i], u->wanted);
        if (!u->wanted)
                brute_put(&w->brute, w->handles[i], PLACEMENT_NONE);
}

static void change_node(World *w) {
        uint32_t i = roll(w, w->n_nodes);

        if (roll(w, 3) == 0) {
                make_labels(w, i);
                brute_node(&w->brute, i, w->brute.nodes[i].host, w->labels[i], w->n_labels[i]);
                placement_node_label(w->p, i, w->labels[i], w->n_labels[i]);
                return;
        }
        w->brute.nodes[i].state = (PlacementState) roll(w, 3) ? PLACEMENT_OPEN : (PlacementState) roll(w, 4);
        placement_node_set_state(w->p, i, w->brute.nodes[i].state);
}

static void happen(World *w) {
        int i = (int) roll(w, UNITS_MAX);

        if (roll(w, 8) == 0)
                change_node(w);
        else if (w->handles[i] == PLACEMENT_NONE)
                add_unit(w, i);
        else if (roll(w, 3) == 0)
                remove_unit(w, i);
        else
                toggle_unit(w, i);
}

// ------------------------------------------------------------------------------------------------ rules

static void check_decision(World *w, const PlacementDecision *d) {
        const BruteUnit *u = &w->brute.units[d->unit];
        uint32_t expected = brute_choose(&w->brute, d->unit);

        assert_true(u->wanted);
        assert_int_equal(d->from, u->node);
        assert_true(u->node == PLACEMENT_NONE || brute_must_go(&w->brute, d->unit));
        if (d->to != expected)
                fail_msg("%s goes to %u, brute force says %u", u->name, d->to, expected);
        brute_put(&w->brute, d->unit, d->to);
        w->trace = (w->trace ^ d->unit ^ (uint64_t) d->to << 20) * UINT64_C(0x100000001b3);
}

static void check_who_is_left(const World *w) {
        for (int i = 0; i < UNITS_MAX; i++) {
                uint32_t unit = w->handles[i];
                const BruteUnit *u = &w->brute.units[unit];
                PlacementRefusal *refusals;
                size_t n;

                if (unit == PLACEMENT_NONE || !u->wanted ||
                    (u->node != PLACEMENT_NONE && !brute_must_go(&w->brute, unit)))
                        continue;
                if (brute_choose(&w->brute, unit) != PLACEMENT_NONE)
                        fail_msg("%s could go to %u", u->name, brute_choose(&w->brute, unit));
                assert_int_equal(placement_why(w->p, unit, &refusals, &n),
                                 0); // and each node has its reason
                assert_int_equal(n, w->n_nodes);
                placement_refusals_free(refusals, n);
        }
}

// Who must go is released, as its owner would.
static void release(World *w) {
        for (int i = 0; i < UNITS_MAX; i++) {
                uint32_t unit = w->handles[i];

                if (unit != PLACEMENT_NONE && w->brute.units[unit].node != PLACEMENT_NONE)
                        placement_unit_release(w->p, unit, brute_must_go(&w->brute, unit));
        }
}

// Who has the reservation is taken over; that it may be his is checked.
static void check_reservation(World *w) {
        const Reservation *r = &w->p->reservation;

        w->brute.keeps = r->unit != PLACEMENT_NONE;
        if (!w->brute.keeps)
                return;
        w->brute.kept_unit = r->unit;
        w->brute.kept_host = r->host;
        w->brute.kept = r->demand;
        const BruteUnit *u = &w->brute.units[r->unit];
        assert_true(u->present && u->wanted);
        for (int i = 0; i < PLACEMENT_RESOURCES_MAX; i++) {
                assert_int_equal(r->demand.of[i], u->spec->demand.of[i]);
                assert_true(r->demand.of[i] <= w->brute.hosts[r->host].offers.of[i]);
        }
        w->n_kept++;
}

static void settle(World *w) {
        const PlacementBudget plenty = {.decisions = 1000, .disruptions = 1000};
        const PlacementDecision *decisions;
        size_t n;

        release(w);
        placement_round(w->p, w->now_us, &plenty, &decisions, &n);
        check_reservation(w);
        for (size_t i = 0; i < n; i++)
                check_decision(w, &decisions[i]);
        check_who_is_left(w);
}

static uint32_t n_kept; // reservations that were compared, in all worlds

static uint64_t live(uint64_t seed) {
        World w;
        uint64_t trace;

        print_message("seed %llu\n", (unsigned long long) seed);
        world_init(&w, seed);
        for (int step = 0; step < 150; step++) {
                for (unsigned n = 1 + roll(&w, 4); n > 0; n--)
                        happen(&w);
                w.now_us += roll(&w, 1000);
                settle(&w);
        }
        trace = w.trace;
        n_kept += w.n_kept;
        world_done(&w);
        return trace;
}

static void each_decision_is_that_of_brute_force_and_nobody_is_left_who_could_run(void **state) {
        for (uint64_t seed = 1; seed <= 25; seed++)
                live(seed);
        assert_true(n_kept > 0);
}

static void the_same_events_give_the_same_decisions(void **state) {
        for (uint64_t seed = 100; seed < 105; seed++)
                assert_true(live(seed) == live(seed));
}

// --------------------------------------------------------------------------------------------- from scratch

// Another one that is told the outcome, not the way there.
static void world_again(const World *w, World *again) {
        World copy = *w;

        *again = copy;
        again->p = placement_new();
        assert_int_equal(placement_resource(again->p, "gpu", NULL), 2);
        assert_int_equal(placement_role_add(again->p, &(PlacementRole){.weight = 1, .limit = {-1, -1, -1}},
                                            &again->role),
                         0);
        again->brute = (Brute){0};
        for (uint32_t i = 0; i < w->n_nodes; i++) {
                const BruteNode *n = &w->brute.nodes[i];
                const BruteHost *h = &w->brute.hosts[n->host];
                uint32_t host = n->host, node;

                if (i == 0 || w->brute.nodes[i - 1].host != n->host)
                        placement_host_add(again->p, &h->offers, h->size, &host);
                assert_int_equal(host, n->host);
                placement_node_add(again->p, host, w->labels[i], w->n_labels[i], &node);
                placement_node_set_state(again->p, node, n->state);
        }
        for (int i = 0; i < SPECS; i++)
                assert_int_equal(placement_class_get(again->p, &w->specs[i], &again->classes[i]), 0);
        for (int i = 0; i < UNITS_MAX; i++) {
                const BruteUnit *u = &w->brute.units[w->handles[i]];

                if (w->handles[i] == PLACEMENT_NONE)
                        continue;
                placement_unit_add(again->p, w->names[i], again->classes[u->spec - w->specs], again->role, 0,
                                   &again->handles[i]);
                placement_unit_put(again->p, again->handles[i], u->node);
                if (u->wanted)
                        placement_unit_want(again->p, again->handles[i], true);
        }
}

static uint32_t add_and_place(Placement *p, const char *name, uint32_t class, uint32_t role, uint32_t *ret) {
        const PlacementBudget one = {.decisions = 1};
        const PlacementDecision *d;
        size_t n;

        placement_unit_add(p, name, class, role, 0, ret);
        placement_unit_want(p, *ret, true);
        placement_round(p, 0, &one, &d, &n);
        return unit_node(p, *ret);
}

static void what_grew_step_by_step_decides_like_what_was_told_all_at_once(void **state) {
        for (uint64_t seed = 200; seed < 215; seed++) {
                World w, again;

                world_init(&w, seed);
                for (int step = 0; step < 100; step++) {
                        happen(&w);
                        settle(&w);
                }
                for (int i = 0; i < UNITS_MAX; i++) // who waits would go first, in another order
                        if (w.handles[i] != PLACEMENT_NONE && w.brute.units[w.handles[i]].wanted &&
                            (w.brute.units[w.handles[i]].node == PLACEMENT_NONE ||
                             brute_must_go(&w.brute, w.handles[i])))
                                remove_unit(&w, i);
                settle(&w);
                world_again(&w, &again);
                for (int i = 0; i < SPECS; i++) {
                        uint32_t u;

                        assert_int_equal(
                                add_and_place(w.p, "new.service", w.classes[i], w.role, &u),
                                add_and_place(again.p, "new.service", again.classes[i], again.role, &u));
                }
                world_done(&w);
                world_done(&again);
        }
}

// ----------------------------------------------------------------------------------------------- the budget

// Whoever of those that wait has a priority preempts others, as many in a round as the budget says.
static void no_more_is_preempted_than_the_budget_allows(void **state) {
        uint64_t n_preempted = 0;

        for (uint64_t seed = 300; seed < 310; seed++) {
                const PlacementDecision *d;
                World w;
                size_t n;

                world_init(&w, seed);
                for (int i = 0; i < UNITS_MAX; i++)
                        add_unit(&w, i);
                settle(&w);
                for (int i = 0; i < UNITS_MAX; i++)
                        if (roll(&w, 2))
                                placement_unit_change(w.p, w.handles[i],
                                                      placement_unit_class(w.p, w.handles[i]), w.role,
                                                      (int16_t) roll(&w, 5));
                do {
                        PlacementBudget budget = {.decisions = 1 + roll(&w, 50),
                                                  .disruptions = 1 + roll(&w, 4)};
                        size_t preempted = 0;

                        placement_round(w.p, 0, &budget, &d, &n);
                        for (size_t i = 0; i < n; i++)
                                preempted += d[i].kind == PLACEMENT_PREEMPT;
                        assert_true(preempted <= budget.disruptions);
                        n_preempted += preempted;
                } while (n > 0);
                world_done(&w);
        }
        assert_true(n_preempted > 0);
}

RUN_TESTS(
        cmocka_unit_test(each_decision_is_that_of_brute_force_and_nobody_is_left_who_could_run),
        cmocka_unit_test(the_same_events_give_the_same_decisions),
        cmocka_unit_test(what_grew_step_by_step_decides_like_what_was_told_all_at_once),
        cmocka_unit_test(no_more_is_preempted_than_the_budget_allows)
)
