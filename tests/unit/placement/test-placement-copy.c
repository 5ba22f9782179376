// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A copy decides as the first one does, from wherever it was taken: random lives of both side by side, in
// which everything happens to both. A failing seed is printed.
#include "../../../src/placement/placement-private.h"
#include "random-numbers.h"
#include "rebalance.h"

#include <stdio.h>

#include "test.h"

enum { HOSTS = 8, ROLES = 3, SPECS = 12, UNITS = 60, NAME_SIZE = 16, STEPS = 60 };

typedef struct World {
        uint64_t seed, now_us, trace;
        Placement *both[2]; // the first one; its copy, or NULL
        uint32_t hosts[HOSTS], nodes[HOSTS], roles[ROLES], classes[SPECS];
        uint32_t handles[UNITS]; // PLACEMENT_NONE: there is no such unit
        PlacementTerm terms[SPECS], preferences[SPECS];
        PlacementSpec specs[SPECS];
        char names[UNITS][NAME_SIZE];
} World;

#define EACH(w, p) for (Placement **p##_i = (w)->both, *p; p##_i < (w)->both + 2 && (p = *p##_i); p##_i++)

static unsigned roll(World *w, unsigned n) {
        return (unsigned) (xorshift64(&w->seed) >> 11) % n;
}

static void note(World *w, uint64_t what) {
        w->trace = (w->trace ^ what) * UINT64_C(0x100000001b3);
}

// ------------------------------------------------------------------------------------------------ beginning

static size_t make_labels(World *w, PlacementLabel ret[2]) {
        static const char *const zones[] = {"a", "b", "c"}, *const disks[] = {"ssd", "hdd"};
        size_t n = 0;

        if (roll(w, 6))
                ret[n++] = (PlacementLabel){"zone", zones[roll(w, 3)]};
        if (roll(w, 3))
                ret[n++] = (PlacementLabel){"disk", disks[roll(w, 2)]};
        return n;
}

static PlacementVector make_offers(World *w) {
        return (PlacementVector){{(int32_t) (1 + roll(w, 5)) * 1000, (int32_t) (1 + roll(w, 5)) * 300,
                                  (int32_t) roll(w, 3)}};
}

static void make_spec(World *w, int i) {
        static const char *const ssd[] = {"ssd", NULL}, *const a_or_b[] = {"a", "b", NULL},
                                 *const groups[] = {"g1", "g2"}, *const even[] = {"u?[02468].service", NULL},
                                 *const first[] = {"u1*.service", "nobody*", NULL};
        PlacementSpec *s = &w->specs[i];

        *s = (PlacementSpec){.terms = &w->terms[i], .preferences = &w->preferences[i]};
        s->demand =
                (PlacementVector){{(int32_t) roll(w, 4) * 250, (int32_t) roll(w, 4) * 100, roll(w, 6) == 0}};
        s->n_terms = roll(w, 4) == 0;
        w->terms[i] = (PlacementTerm){LABEL_IN, "zone", a_or_b};
        s->n_preferences = roll(w, 3) == 0;
        w->preferences[i] = (PlacementTerm){LABEL_IN, "disk", ssd};
        s->weights[0] = (uint16_t) (1 + roll(w, 200));
        s->conflicts = roll(w, 4) ? NULL : even;
        s->replaces = roll(w, 6) ? NULL : first;
        if (roll(w, 3) == 0) {
                s->spread = roll(w, 2) ? "zone" : "disk";
                s->spread_group = groups[roll(w, 2)];
                s->spread_soft = roll(w, 2);
                s->spread_skew = (uint16_t) roll(w, 3);
        }
        s->policy = roll(w, 5) ? PLACEMENT_LEAST_LOADED : PLACEMENT_BEST_FIT;
}

static void add_host(World *w, uint32_t i) {
        PlacementVector offers = make_offers(w);
        PlacementLabel labels[2];
        size_t n = make_labels(w, labels);

        placement_host_add(w->both[0], &offers, PLACEMENT_SIZE_ONE, &w->hosts[i]);
        placement_node_add(w->both[0], w->hosts[i], labels, n, &w->nodes[i]);
        placement_node_set_state(w->both[0], w->nodes[i], PLACEMENT_OPEN);
}

static void world_init(World *w, uint64_t seed) {
        *w = (World){.seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
        w->both[0] = placement_new();
        assert_int_equal(placement_resource(w->both[0], "gpu", NULL), 2);
        for (uint32_t i = 0; i < ROLES; i++) {
                PlacementRole role = {.weight = 1 + i,
                                      .limit = {i == 2 ? 6000 : -1, -1, -1, -1, -1, -1, -1, -1}};

                role.guarantee[PLACEMENT_CPU] = i == 1 ? 1000 : 0;
                assert_int_equal(placement_role_add(w->both[0], &role, &w->roles[i]), 0);
        }
        for (uint32_t i = 0; i < HOSTS; i++)
                add_host(w, i);
        for (int i = 0; i < SPECS; i++) {
                make_spec(w, i);
                assert_int_equal(placement_class_get(w->both[0], &w->specs[i], &w->classes[i]), 0);
        }
        for (int i = 0; i < UNITS; i++) {
                snprintf(w->names[i], sizeof w->names[i], "u%d.service", i);
                w->handles[i] = PLACEMENT_NONE;
        }
}

static void world_done(World *w) {
        EACH(w, p)
                placement_free(p);
}

// Whoever has the names may give them to the copy.
static void copy(World *w) {
        bool named = w->seed >> 20 & 1; // without a roll: the trace is the same with a copy and without
        Placement *c = named ? placement_copy_named(w->both[0]) : placement_copy(w->both[0]);

        w->both[1] = c;
        for (int i = 0; i < UNITS; i++)
                if (w->handles[i] != PLACEMENT_NONE && named) {
                        assert_ptr_equal(placement_unit_name(c, w->handles[i]), w->names[i]);
                } else if (w->handles[i] != PLACEMENT_NONE) {
                        assert_null(placement_unit_name(c, w->handles[i]));
                        c->units[w->handles[i]].name = w->names[i];
                }
}

// ------------------------------------------------------------------------------------------------ events

static void add_unit(World *w, int i) {
        uint32_t class = w->classes[roll(w, SPECS)], role = w->roles[roll(w, ROLES)], first = PLACEMENT_NONE;
        int16_t priority = (int16_t) roll(w, 3);

        EACH(w, p) {
                placement_unit_add(p, w->names[i], class, role, priority, &w->handles[i]);
                assert_true(first == PLACEMENT_NONE || first == w->handles[i]);
                first = w->handles[i];
                placement_unit_want(p, first, true);
        }
}

static void remove_unit(World *w, int i) {
        EACH(w, p)
                placement_unit_remove(p, w->handles[i]);
        w->handles[i] = PLACEMENT_NONE;
}

static void change_unit(World *w, uint32_t unit) {
        uint32_t class = w->classes[roll(w, SPECS)], role = w->roles[roll(w, ROLES)];
        uint32_t node = w->nodes[roll(w, HOSTS)], other = w->handles[roll(w, UNITS)];
        int16_t priority = (int16_t) roll(w, 3);
        unsigned what = roll(w, 9), way = roll(w, 2);
        int r = 1, again;

        EACH(w, p) {
                again = 0;
                switch (what) {
                case 0:
                        placement_unit_change(p, unit, class, role, priority);
                        break;
                case 1:
                        placement_unit_set_preemptible(p, unit, way);
                        break;
                case 2:
                        placement_unit_release(p, unit, way);
                        break;
                case 3:
                        placement_unit_exclude(p, unit, node);
                        break;
                case 4:
                        placement_unit_readmit(p, unit, way ? node : PLACEMENT_NONE);
                        break;
                case 5:
                        if (other != PLACEMENT_NONE && other != unit)
                                again = placement_unit_follow(p, unit, other);
                        break;
                case 6:
                        placement_unit_unfollow(p, unit);
                        break;
                case 7:
                        placement_unit_put(p, unit, node);
                        break;
                default:
                        placement_unit_want(p, unit, way);
                }
                assert_true(r == 1 || r == again);
                r = again;
        }
}

static void change_node(World *w) {
        uint32_t i = roll(w, HOSTS), others = roll(w, 4);
        PlacementState state = roll(w, 3) ? PLACEMENT_OPEN : (PlacementState) roll(w, 4);
        PlacementVector offers = make_offers(w);
        PlacementLabel labels[2];
        size_t n = make_labels(w, labels);
        unsigned what = roll(w, 6);

        EACH(w, p)
                switch (what) {
                case 0:
                        placement_node_label(p, w->nodes[i], labels, n);
                        break;
                case 1:
                        placement_host_set(p, w->hosts[i], &offers, PLACEMENT_SIZE_ONE);
                        break;
                case 2:
                        placement_host_penalise(p, w->hosts[i], 500, 1000, w->now_us);
                        break;
                case 3:
                        placement_node_set_others(p, w->nodes[i], others);
                        break;
                default:
                        placement_node_set_state(p, w->nodes[i], state);
                }
}

// A class that no unit has goes and comes again, with its terms, its globs and its group.
static void renew_class(World *w) {
        unsigned i = roll(w, SPECS);
        uint32_t first = PLACEMENT_NONE;

        for (uint32_t before = w->classes[i], n = 0; n < 2 && w->both[n]; n++) {
                placement_class_unref(w->both[n], before);
                assert_int_equal(placement_class_get(w->both[n], &w->specs[i], &w->classes[i]), 0);
                assert_true(first == PLACEMENT_NONE || first == w->classes[i]);
                first = w->classes[i];
        }
}

static void happen(World *w) {
        int i = (int) roll(w, UNITS);

        switch (roll(w, 8)) {
        case 0:
                change_node(w);
                break;
        case 1:
                renew_class(w);
                break;
        default:
                if (w->handles[i] == PLACEMENT_NONE)
                        add_unit(w, i);
                else if (roll(w, 4) == 0)
                        remove_unit(w, i);
                else
                        change_unit(w, w->handles[i]);
        }
}

// ------------------------------------------------------------------------------------------------ answers

static void decide(World *w) {
        const PlacementBudget budget = {.decisions = 1 + roll(w, 20), .disruptions = roll(w, 3)};
        const PlacementDecision *first = NULL, *d;
        size_t n_first = 0, n;

        w->now_us += roll(w, 2000);
        EACH(w, p) {
                placement_round(p, w->now_us, &budget, &d, &n);
                if (p == w->both[0]) {
                        first = d;
                        n_first = n;
                        continue;
                }
                assert_int_equal(n, n_first);
                if (n > 0)
                        assert_memory_equal(d, first, n * sizeof *d);
        }
        for (size_t i = 0; i < n_first; i++)
                note(w, first[i].unit ^ (uint64_t) first[i].to << 20);
}

static void rebalance(World *w) {
        const RebalanceRules rules = {.max_moves = 100};
        RebalanceMove *moves[2] = {};
        size_t n[2] = {};
        bool more;

        for (int i = 0; i < 2 && w->both[i]; i++)
                rebalance_plan(w->both[i], &rules, &moves[i], &n[i], &more);
        if (w->both[1]) {
                assert_int_equal(n[0], n[1]);
                if (n[0] > 0)
                        assert_memory_equal(moves[0], moves[1], n[0] * sizeof *moves[0]);
        }
        for (size_t i = 0; i < n[0]; i++)
                note(w, moves[0][i].unit ^ (uint64_t) moves[0][i].to << 20);
        free(moves[0]);
        free(moves[1]);
}

static void ask_why(World *w) {
        uint32_t unit = w->handles[roll(w, UNITS)];
        PlacementRefusal *why[2];
        size_t n[2];

        if (unit == PLACEMENT_NONE || !w->both[1])
                return;
        for (int i = 0; i < 2; i++)
                assert_int_equal(placement_why(w->both[i], unit, &why[i], &n[i]), 0);
        assert_int_equal(n[0], n[1]);
        for (size_t i = 0; i < n[0]; i++) {
                assert_int_equal(why[0][i].node, why[1][i].node);
                assert_string_equal(why[0][i].reason, why[1][i].reason);
        }
        for (int i = 0; i < 2; i++)
                placement_refusals_free(why[i], n[i]);
}

static void live(World *w, int steps) {
        while (steps-- > 0) {
                for (unsigned n = 1 + roll(w, 4); n > 0; n--)
                        happen(w);
                decide(w);
                if (roll(w, 10) == 0)
                        rebalance(w);
                ask_why(w);
        }
}

// ------------------------------------------------------------------------------------------------ stories

static void whatever_happens_to_both_they_decide_the_same(void **state) {
        for (uint64_t seed = 1; seed <= 40; seed++) {
                World w;

                print_message("seed %llu\n", (unsigned long long) seed);
                world_init(&w, seed);
                for (int life = 0; life < 3; life++) {
                        live(&w, STEPS);
                        copy(&w);
                        live(&w, STEPS);
                        if (roll(&w, 2)) { // the copy lives on alone
                                Placement *first = w.both[0];

                                w.both[0] = w.both[1];
                                w.both[1] = first;
                        }
                        w.both[1] = placement_free(w.both[1]);
                }
                assert_true(w.trace != 0);
                world_done(&w);
        }
}

static uint64_t trace_of(uint64_t seed, bool copied) {
        World w, of_copy;

        world_init(&w, seed);
        live(&w, STEPS);
        if (copied) {
                copy(&w);
                of_copy = w;
                of_copy.both[0] = w.both[1];
                of_copy.both[1] = w.both[1] = NULL;
                live(&of_copy, STEPS);
                world_done(&of_copy);
        }
        live(&w, STEPS);
        world_done(&w);
        return w.trace;
}

static void what_happens_to_the_copy_is_nothing_to_the_first_one(void **state) {
        for (uint64_t seed = 100; seed < 120; seed++)
                assert_true(trace_of(seed, true) == trace_of(seed, false));
}

static void an_empty_one_can_be_copied_and_filled(void **state) {
        Placement *p = placement_new(), *c = placement_copy(p);
        const PlacementDecision *d;
        uint32_t host, node, class, role, unit;
        size_t n;

        placement_free(p);
        placement_host_add(c, &(PlacementVector){{1000, 1000}}, PLACEMENT_SIZE_ONE, &host);
        placement_node_add(c, host, &(PlacementLabel){"zone", "a"}, 1, &node);
        placement_node_set_state(c, node, PLACEMENT_OPEN);
        assert_int_equal(placement_role_add(c, &(PlacementRole){.weight = 1, .limit = {-1, -1}}, &role), 0);
        assert_int_equal(placement_class_get(c, &(PlacementSpec){.spread = "zone"}, &class), 0);
        placement_unit_add(c, "u.service", class, role, 0, &unit);
        placement_unit_want(c, unit, true);
        placement_round(c, 0, &(PlacementBudget){.decisions = 1}, &d, &n);
        assert_int_equal(n, 1);
        assert_int_equal(d[0].to, node);
        placement_free(c);
}

RUN_TESTS(
        cmocka_unit_test(whatever_happens_to_both_they_decide_the_same),
        cmocka_unit_test(what_happens_to_the_copy_is_nothing_to_the_first_one),
        cmocka_unit_test(an_empty_one_can_be_copied_and_filled)
)
