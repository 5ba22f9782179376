// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which units would be better off elsewhere: rules, and random clusters whose badness is counted by brute
// force. A failing seed is printed.
#include "../../../src/placement/placement-private.h"
#include "rebalance.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../lib/brute-placement.h"
#include "random-numbers.h"
#include "str.h"
#include "test.h"

static const PlacementRole plain = {.weight = 1, .limit = {-1, -1, -1, -1, -1, -1, -1, -1}};

typedef struct Fixture {
        Placement *p;
        uint32_t role, class; // without demands
        uint32_t nodes[8], n_units;
        char names[64][16];
} Fixture;

// Hosts of 4 cores; zone=a, b, a, ...; disk=ssd on the last one.
static Fixture *hosts(int n) {
        static const char *const zones[] = {"a", "b"};
        Fixture *f = calloc(1, sizeof *f);

        f->p = placement_new();
        assert_int_equal(placement_role_add(f->p, &plain, &f->role), 0);
        for (int i = 0; i < n; i++) {
                PlacementLabel labels[] = {{"zone", zones[i % 2]}, {"disk", "ssd"}};
                uint32_t host;

                placement_host_add(f->p, &(PlacementVector){{4000, 4096}}, PLACEMENT_SIZE_ONE, &host);
                placement_node_add(f->p, host, labels, 1 + (i == n - 1), &f->nodes[i]);
                placement_node_set_state(f->p, f->nodes[i], PLACEMENT_OPEN);
        }
        assert_int_equal(placement_class_get(f->p, &(PlacementSpec){}, &f->class), 0);
        return f;
}

static void done(Fixture *f) {
        placement_free(f->p);
        free(f);
}
DEFINE_CLEANUP(Fixture *, done)

static uint32_t class_of(Fixture *f, const PlacementSpec *spec) {
        uint32_t class;

        assert_int_equal(placement_class_get(f->p, spec, &class), 0);
        return class;
}

static uint32_t put(Fixture *f, uint32_t class, uint32_t node) {
        char *name = f->names[f->n_units];
        uint32_t u;

        snprintf(name, sizeof f->names[0], "u%u.service", f->n_units++);
        placement_unit_add(f->p, name, class, f->role, 0, &u);
        placement_unit_put(f->p, u, node);
        placement_unit_want(f->p, u, true);
        return u;
}

static void put_many(Fixture *f, int n, uint32_t class, uint32_t node) {
        while (n-- > 0)
                put(f, class, node);
}

// Plans and carries out; the moves as "unit>node" in a row.
static const char *rebalance_with(Fixture *f, const RebalanceRules *rules) {
        static char text[512];
        _cleanup_free_ RebalanceMove *moves = NULL;
        size_t n, len = 0;
        bool more;

        rebalance_plan(f->p, rules, &moves, &n, &more);
        assert_true(more == (n >= rules->max_moves));
        *text = 0;
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(unit_node(f->p, moves[i].unit), moves[i].from);
                assert_int_equal(rebalance_carry_out(f->p, moves[i].unit, moves[i].to), 1);
                assert_int_equal(unit_node(f->p, moves[i].unit), moves[i].to);
                len += (size_t) snprintf(text + len, sizeof text - len, "%s%u>%u", len ? " " : "",
                                         moves[i].unit, moves[i].to);
        }
        return text;
}

static const char *rebalance(Fixture *f) {
        return rebalance_with(f, &(RebalanceRules){.max_moves = 100});
}

static unsigned count_on(Fixture *f, uint32_t node) {
        unsigned n = 0;

        for (uint32_t u = 0; u < f->n_units; u++)
                n += unit_node(f->p, u) == node;
        return n;
}

// ------------------------------------------------------------------------------------------------ rules

static void a_node_that_came_back_gets_its_share_by_as_few_moves_as_can_be(void **state) {
        _cleanup_(donep) Fixture *f = hosts(3);

        put_many(f, 5, f->class, 0);
        put_many(f, 4, f->class, 1);
        assert_string_equal(rebalance(f), "0>2 5>2 1>2");
        assert_int_equal(count_on(f, 0), 3);
        assert_int_equal(count_on(f, 1), 3);
        assert_string_equal(rebalance(f), "");
}

static void a_small_difference_moves_nobody(void **state) {
        Fixture *f = hosts(3);

        put_many(f, 5, f->class, 0);
        put_many(f, 5, f->class, 1);
        put_many(f, 4, f->class, 2);
        assert_string_equal(rebalance(f), "");
        done(f);
        f = hosts(2); // two of thirty are less than a sixteenth, of three they are not
        put_many(f, 30, f->class, 0);
        put_many(f, 28, f->class, 1);
        assert_string_equal(rebalance(f), "");
        done(f);
}

static void one_large_unit_moves_rather_than_many_small_ones(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t large = class_of(f, &(PlacementSpec){.demand = {{2000}}}),
                 small = class_of(f, &(PlacementSpec){.demand = {{200}}});

        put_many(f, 4, small, 0);
        put(f, large, 0);
        put_many(f, 4, small, 0);
        assert_string_equal(rebalance(f), "4>1");
}

static void what_is_reserved_is_never_more_than_there_is(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t whole = class_of(f, &(PlacementSpec){.demand = {{4000}}}),
                 half = class_of(f, &(PlacementSpec){.demand = {{2000}}});

        put(f, whole, 0);
        put_many(f, 2, half, 1);
        put_many(f, 9, f->class, 0);
        rebalance(f);
        assert_int_equal(unit_node(f->p, 0), 0);
        assert_int_equal(unit_node(f->p, 1), 1);
        assert_int_equal(count_on(f, 0) + count_on(f, 1), 12);
        assert_in_range(count_on(f, 0), 5, 7);
}

static void a_group_is_spread_before_loads_are_looked_at(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t spread = class_of(f, &(PlacementSpec){.spread = "zone", .spread_group = "g"});

        put_many(f, 4, spread, 0);
        put_many(f, 6, f->class, 1);
        assert_string_equal(rebalance(f), "0>1 1>1 4>0 5>0 6>0");
}

static void a_preferred_node_is_worth_its_weight_of_load(void **state) {
        static const char *const ssd[] = {"ssd", NULL};
        const PlacementTerm term = {.op = LABEL_IN, .key = "disk", .values = ssd};
        _cleanup_(donep) Fixture *f = hosts(3);
        uint32_t strong = class_of(
                         f, &(PlacementSpec){.preferences = &term, .weights = {100}, .n_preferences = 1}),
                 weak = class_of(f,
                                 &(PlacementSpec){.preferences = &term, .weights = {1}, .n_preferences = 1});

        put(f, strong, 0);
        put(f, weak, 1);
        put(f, f->class, 2);
        put(f, f->class, 2);
        assert_string_equal(rebalance(f), "0>2 2>0"); // the second one to even that out
}

static void what_nobody_wants_any_more_is_not_searched_for(void **state) {
        atomic_bool stopped = true;
        _cleanup_(donep) Fixture *f = hosts(2);

        put_many(f, 8, f->class, 0);
        assert_string_equal(rebalance_with(f, &(RebalanceRules){.max_moves = 9, .stopped = &stopped}), "");
        atomic_store(&stopped, false);
        assert_string_equal(rebalance_with(f, &(RebalanceRules){.max_moves = 9, .stopped = &stopped}),
                            "0>1 1>1 2>1 3>1");
}

static void what_is_left_of_a_plan_is_still_possible_and_better(void **state) {
        _cleanup_free_ RebalanceMove *moves = NULL;
        const RebalanceRules any = {.max_moves = 100};
        _cleanup_(donep) Fixture *f = hosts(3);
        size_t n;
        bool more;

        put_many(f, 6, f->class, 0);
        rebalance_plan(f->p, &any, &moves, &n, &more);
        assert_int_equal(n, 4); // two to each of the others
        rebalance_revise(f->p, moves, &n);
        assert_int_equal(n, 4);
        placement_unit_put(f->p, moves[0].unit, moves[0].to); // as if somebody else had
        rebalance_revise(f->p, moves, &n);
        assert_int_equal(n, 3);
        placement_node_set_state(f->p, 1, PLACEMENT_CLOSED);
        rebalance_revise(f->p, moves, &n);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(moves[i].to, 2);
        put_many(f, 6, f->class, 2);
        rebalance_revise(f->p, moves, &n);
        assert_int_equal(n, 0);
        assert_int_equal(count_on(f, 2), 6);
}

static bool is_even(uint32_t unit, void *userdata) {
        return unit % 2 == 0;
}

static void who_is_exempt_stays(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);

        put_many(f, 8, f->class, 0);
        assert_string_equal(rebalance_with(f, &(RebalanceRules){.max_moves = 9, .may_move = is_even}),
                            "0>1 2>1 4>1 6>1");
}

static void no_more_are_moved_than_asked_for(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);

        put_many(f, 8, f->class, 0);
        assert_string_equal(rebalance_with(f, &(RebalanceRules){.max_moves = 2}), "0>1 1>1");
        assert_string_equal(rebalance_with(f, &(RebalanceRules){.max_moves = 0}), "");
}

static void who_does_not_match_its_node_any_more_goes_first(void **state) {
        static const char *const ssd[] = {"ssd", NULL};
        const PlacementTerm term = {.op = LABEL_IN, .key = "disk", .values = ssd};
        PlacementLabel labels[] = {{"zone", "a"}, {"disk", "ssd"}};
        _cleanup_(donep) Fixture *f = hosts(3);
        uint32_t on_ssd = class_of(f, &(PlacementSpec){.terms = &term, .n_terms = 1}),
                 packed = class_of(
                         f, &(PlacementSpec){.terms = &term, .n_terms = 1, .policy = PLACEMENT_BEST_FIT});

        put_many(f, 2, on_ssd, 2);
        put(f, packed, 2);
        put_many(f, 9, f->class, 0);
        assert_false(placement_unit_mismatches(f->p, 0));
        placement_node_label(f->p, 2, labels, 1); // nobody matches: nothing can be better for these
        assert_true(placement_unit_only_mismatches(f->p, 0));
        assert_null(strstr(rebalance(f), "0>"));
        placement_node_label(f->p, 0, labels, 2); // where most units are
        assert_int_equal(strncmp(rebalance(f), "0>0 1>0 2>0", 11), 0);
        assert_false(placement_unit_mismatches(f->p, 2));
        assert_string_equal(rebalance(f), "");
}

static void who_must_go_for_another_reason_is_not_moved_for_its_labels(void **state) {
        static const char *const ssd[] = {"ssd", NULL};
        const PlacementTerm term = {.op = LABEL_IN, .key = "disk", .values = ssd};
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t u = put(f, class_of(f, &(PlacementSpec){.terms = &term, .n_terms = 1}), 0);

        assert_true(placement_unit_only_mismatches(f->p, u));
        placement_unit_exclude(f->p, u, 0);
        assert_false(placement_unit_only_mismatches(f->p, u));
        assert_string_equal(rebalance(f), "");
}

static void tied_packed_and_waiting_units_stay_where_they_are(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t packed = class_of(f, &(PlacementSpec){.policy = PLACEMENT_BEST_FIT});

        put_many(f, 3, packed, 0);
        put_many(f, 2, f->class, 0);
        assert_int_equal(placement_unit_follow(f->p, 3, 4), 0);
        assert_string_equal(rebalance(f), "");
        put(f, f->class, 0);
        placement_unit_exclude(f->p, 5, 0); // it must go: its owner's business
        assert_string_equal(rebalance(f), "");
}

static void nothing_goes_to_or_leaves_a_node_that_is_not_open(void **state) {
        _cleanup_(donep) Fixture *f = hosts(3);

        put_many(f, 6, f->class, 0);
        placement_node_set_state(f->p, 1, PLACEMENT_CLOSED);
        placement_node_set_state(f->p, 2, PLACEMENT_SECOND);
        assert_string_equal(rebalance(f), "");
        placement_node_set_state(f->p, 0, PLACEMENT_CLOSED);
        placement_node_set_state(f->p, 1, PLACEMENT_OPEN);
        assert_string_equal(rebalance(f), "");
}

static void a_move_that_has_become_worse_is_not_made(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);

        put_many(f, 2, f->class, 0);
        assert_int_equal(rebalance_carry_out(f->p, 0, 1), 1);
        assert_int_equal(rebalance_carry_out(f->p, 1, 1), 0);
        assert_int_equal(unit_node(f->p, 1), 0);
        placement_node_set_state(f->p, 1, PLACEMENT_CLOSED);
        put_many(f, 4, f->class, 0);
        assert_int_equal(rebalance_carry_out(f->p, 2, 1), 0);
}

// ------------------------------------------------------------------------------------------ random clusters

enum { NODES = 10, SPECS = 10, UNITS = 60 };

typedef struct World {
        uint64_t seed;
        Placement *p;
        Brute brute;
        uint32_t role, n_nodes, handles[UNITS], specs_of[UNITS];
        PlacementLabel labels[NODES][2];
        size_t n_labels[NODES];
        PlacementTerm terms[SPECS], preferences[SPECS];
        PlacementSpec specs[SPECS];
        uint32_t classes[SPECS];
        PlacementVector offers[NODES];
        char names[UNITS][16];
} World;

static unsigned roll(World *w, unsigned n) {
        return (unsigned) (xorshift64(&w->seed) >> 11) % n;
}

static void make_labels(World *w, uint32_t i) {
        static const char *const zones[] = {"a", "b", "c"}, *const disks[] = {"ssd", "hdd"};

        w->n_labels[i] = 0;
        if (roll(w, 8))
                w->labels[i][w->n_labels[i]++] = (PlacementLabel){"zone", zones[roll(w, 3)]};
        if (roll(w, 4))
                w->labels[i][w->n_labels[i]++] = (PlacementLabel){"disk", disks[roll(w, 2)]};
}

static void make_spec(World *w, int i) {
        static const char *const ssd[] = {"ssd", NULL}, *const a_or_b[] = {"a", "b", NULL},
                                 *const groups[] = {"g1", "g2"}, *const even[] = {"u?[02468].service", NULL};
        PlacementSpec *s = &w->specs[i];

        *s = (PlacementSpec){.terms = &w->terms[i], .preferences = &w->preferences[i]};
        s->demand.of[PLACEMENT_CPU] = (int32_t) roll(w, 4) * 200;
        s->demand.of[PLACEMENT_MEMORY] = (int32_t) roll(w, 4) * 80;
        s->n_terms = roll(w, 4) == 0;
        w->terms[i] = (PlacementTerm){LABEL_IN, "zone", a_or_b, NULL};
        s->n_preferences = roll(w, 3) == 0;
        w->preferences[i] = (PlacementTerm){LABEL_IN, "disk", ssd, NULL};
        s->weights[0] = (uint16_t) (1 + roll(w, 200));
        s->conflicts = roll(w, 5) ? NULL : even;
        if (roll(w, 3) == 0) {
                s->spread = roll(w, 2) ? "zone" : "disk";
                s->spread_group = groups[roll(w, 2)];
                s->spread_soft = roll(w, 2);
                s->spread_skew = (uint16_t) roll(w, 3);
        }
        s->policy = roll(w, 6) ? PLACEMENT_LEAST_LOADED : PLACEMENT_BEST_FIT;
}

static void set_state(World *w, uint32_t i, PlacementState state) {
        w->brute.nodes[i].state = state;
        placement_node_set_state(w->p, i, state);
}

static void settle(World *w) {
        const PlacementBudget plenty = {.decisions = 1000, .disruptions = 1000};
        const PlacementDecision *d;
        size_t n;

        placement_round(w->p, 0, &plenty, &d, &n);
        for (size_t i = 0; i < n; i++)
                brute_put(&w->brute, d[i].unit, d[i].to);
}

// Nodes of which some were closed while units came, and some got other labels meanwhile.
static void world_init(World *w, uint64_t seed) {
        *w = (World){.seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
        w->p = placement_new();
        assert_int_equal(placement_role_add(w->p, &plain, &w->role), 0);
        w->n_nodes = 2 + roll(w, NODES - 1);
        for (uint32_t i = 0; i < w->n_nodes; i++) {
                uint32_t host, node;

                w->offers[i] = (PlacementVector){
                        {(int32_t) (1 + roll(w, 5)) * 1000, (int32_t) (1 + roll(w, 5)) * 300}};
                make_labels(w, i);
                placement_host_add(w->p, &w->offers[i], PLACEMENT_SIZE_ONE, &host);
                brute_host(&w->brute, host, &w->offers[i], PLACEMENT_SIZE_ONE);
                placement_node_add(w->p, host, w->labels[i], w->n_labels[i], &node);
                brute_node(&w->brute, node, host, w->labels[i], w->n_labels[i]);
                set_state(w, node, roll(w, 3) ? PLACEMENT_OPEN : PLACEMENT_CLOSED);
        }
        for (int i = 0; i < SPECS; i++) {
                make_spec(w, i);
                assert_int_equal(placement_class_get(w->p, &w->specs[i], &w->classes[i]), 0);
        }
        for (int i = 0; i < UNITS; i++) {
                uint32_t spec = w->specs_of[i] = roll(w, SPECS);

                snprintf(w->names[i], sizeof w->names[i], "u%d.service", i);
                placement_unit_add(w->p, w->names[i], w->classes[spec], w->role, 0, &w->handles[i]);
                assert_int_equal(w->handles[i], i);
                placement_unit_want(w->p, w->handles[i], true);
                brute_unit(&w->brute, w->handles[i], w->names[i], &w->specs[spec]);
        }
        settle(w);
        for (uint32_t i = 0; i < w->n_nodes; i++) {
                if (roll(w, 5) == 0) {
                        make_labels(w, i);
                        brute_node(&w->brute, i, w->brute.nodes[i].host, w->labels[i], w->n_labels[i]);
                        placement_node_label(w->p, i, w->labels[i], w->n_labels[i]);
                }
                set_state(w, i, roll(w, 6) ? PLACEMENT_OPEN : PLACEMENT_CLOSED);
        }
        settle(w);
}

static void world_done(World *w) {
        placement_free(w->p);
        brute_done(&w->brute);
}

static int64_t load_of(const World *w, uint32_t host) {
        const BruteHost *h = &w->brute.hosts[host];
        int64_t share = 0;

        for (int i = 0; i < 2; i++)
                share = MAX_OF(share, (int64_t) h->used.of[i] * PLACEMENT_SHARE / h->offers.of[i]);
        return share + 2 * (int64_t) w->brute.nodes[host].n_units; // one node each
}

typedef struct Badness {
        int64_t mismatch, spread, load;
} Badness;

static bool is_better(Badness a, Badness b) {
        if (a.mismatch != b.mismatch)
                return a.mismatch < b.mismatch;
        return a.spread < b.spread || (a.spread == b.spread && a.load < b.load);
}

// Each unit of a domain counts what is in it: the sum of the squares.
static Badness badness(const World *w) {
        int32_t largest[2] = {0};
        Badness b = {0};

        for (uint32_t i = 0; i < w->n_nodes; i++)
                for (int k = 0; k < 2; k++)
                        largest[k] = MAX_OF(largest[k], w->offers[i].of[k]);
        for (uint32_t i = 0; i < w->n_nodes; i++)
                b.load += load_of(w, i) * load_of(w, i);
        for (int i = 0; i < UNITS; i++) {
                const BruteUnit *u = &w->brute.units[w->handles[i]];
                const PlacementSpec *s = u->spec;
                int64_t weight = 2, share = 0;

                if (u->node == PLACEMENT_NONE)
                        continue;
                b.mismatch += !brute_admits(&w->brute, s, u->node);
                if (s->spread)
                        b.spread += brute_in_domain(&w->brute, s, u->node);
                for (int k = 0; k < 2; k++)
                        share = MAX_OF(share, (int64_t) s->demand.of[k] * PLACEMENT_SHARE / largest[k]);
                weight += share;
                if (s->n_preferences) {
                        PlacementSpec only = {.terms = s->preferences, .n_terms = 1};

                        if (!brute_admits(&w->brute, &only, u->node))
                                b.load += 2 * weight * s->weights[0];
                }
        }
        return b;
}

static bool may_be_moved(uint32_t unit, void *userdata) {
        return unit % 7 != 3;
}

static const RebalanceRules rules = {.max_moves = 1000, .may_move = may_be_moved};

static size_t plan(World *w, RebalanceMove **ret) {
        size_t n;
        bool more;

        rebalance_plan(w->p, &rules, ret, &n, &more);
        assert_false(more);
        for (int i = 0; i < UNITS; i++)
                assert_int_equal(unit_node(w->p, w->handles[i]), w->brute.units[w->handles[i]].node);
        return n;
}

static void check_move(World *w, const RebalanceMove *m) {
        Badness before = badness(w), after;

        assert_true(may_be_moved(m->unit, NULL));
        assert_int_equal(w->brute.units[m->unit].node, m->from);
        assert_true(w->brute.units[m->unit].spec->policy == PLACEMENT_LEAST_LOADED ||
                    !brute_admits(&w->brute, w->brute.units[m->unit].spec, m->from));
        assert_true(w->brute.nodes[m->from].state == PLACEMENT_OPEN);
        assert_true(w->brute.nodes[m->to].state == PLACEMENT_OPEN);
        brute_put(&w->brute, m->unit, PLACEMENT_NONE);
        assert_true(brute_eligible(&w->brute, m->unit, m->to));
        brute_put(&w->brute, m->unit, m->to);
        after = badness(w);
        assert_true(is_better(after, before));
}

// One of the moves left out, everything else as it ends: that must be worse, or not possible.
static void check_each_is_needed(World *w, const RebalanceMove *moves, size_t n) {
        Badness with = badness(w);

        for (size_t i = 0; i < n; i++) {
                brute_put(&w->brute, moves[i].unit, PLACEMENT_NONE);
                if (brute_eligible(&w->brute, moves[i].unit, moves[i].from)) {
                        brute_put(&w->brute, moves[i].unit, moves[i].from);
                        assert_true(is_better(with, badness(w)));
                        brute_put(&w->brute, moves[i].unit, PLACEMENT_NONE);
                }
                brute_put(&w->brute, moves[i].unit, moves[i].to);
        }
}

static size_t live(uint64_t seed) {
        RebalanceMove *moves, *again;
        World w;
        size_t n, n_again, n_moved = 0;

        print_message("seed %llu\n", (unsigned long long) seed);
        world_init(&w, seed);
        n = plan(&w, &moves);
        n_again = plan(&w, &again);
        assert_int_equal(n, n_again);
        for (size_t i = 0; i < n; i++)
                assert_true(moves[i].unit == again[i].unit && moves[i].to == again[i].to);
        free(again);
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(rebalance_carry_out(w.p, moves[i].unit, moves[i].to), 1);
                check_move(&w, &moves[i]);
                n_moved++;
        }
        check_each_is_needed(&w, moves, n);
        assert_int_equal(plan(&w, &again), 0);
        free(again);
        free(moves);
        world_done(&w);
        return n_moved;
}

// What is left of it after random changes; nothing about the Placement changes, and then it can be carried
// out.
static size_t revise(uint64_t seed) {
        _cleanup_free_ RebalanceMove *moves = NULL;
        World w;
        size_t n, n_before;

        print_message("seed %llu\n", (unsigned long long) seed);
        world_init(&w, seed);
        n = n_before = plan(&w, &moves);
        rebalance_revise(w.p, moves, &n);
        assert_int_equal(n, n_before); // nothing has changed
        for (unsigned i = roll(&w, 3); i > 0; i--)
                set_state(&w, roll(&w, w.n_nodes), roll(&w, 2) ? PLACEMENT_OPEN : PLACEMENT_CLOSED);
        for (unsigned i = roll(&w, 6); i > 0; i--) {
                uint32_t unit = roll(&w, UNITS), node = roll(&w, w.n_nodes);

                placement_unit_put(w.p, unit, node);
                brute_put(&w.brute, unit, node);
        }
        rebalance_revise(w.p, moves, &n);
        for (int i = 0; i < UNITS; i++)
                assert_int_equal(unit_node(w.p, w.handles[i]), w.brute.units[w.handles[i]].node);
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(unit_node(w.p, moves[i].unit), moves[i].from);
                assert_true(rebalance_carry_out(w.p, moves[i].unit, moves[i].to));
        }
        world_done(&w);
        return n_before - n;
}

static void what_is_left_of_a_plan_can_be_made_one_after_the_other(void **state) {
        size_t n_dropped = 0;

        for (uint64_t seed = 2000; seed < 2300; seed++)
                n_dropped += revise(seed);
        assert_true(n_dropped > 30);
}

static void each_move_is_allowed_and_better_each_is_needed_and_nothing_is_left(void **state) {
        size_t n = 0;

        for (uint64_t seed = 1; seed <= 1000; seed++)
                n += live(seed);
        assert_true(n > 2000);
}

RUN_TESTS(
        cmocka_unit_test(a_node_that_came_back_gets_its_share_by_as_few_moves_as_can_be),
        cmocka_unit_test(a_small_difference_moves_nobody),
        cmocka_unit_test(one_large_unit_moves_rather_than_many_small_ones),
        cmocka_unit_test(what_is_reserved_is_never_more_than_there_is),
        cmocka_unit_test(a_group_is_spread_before_loads_are_looked_at),
        cmocka_unit_test(a_preferred_node_is_worth_its_weight_of_load),
        cmocka_unit_test(what_nobody_wants_any_more_is_not_searched_for),
        cmocka_unit_test(what_is_left_of_a_plan_is_still_possible_and_better),
        cmocka_unit_test(who_is_exempt_stays),
        cmocka_unit_test(no_more_are_moved_than_asked_for),
        cmocka_unit_test(who_does_not_match_its_node_any_more_goes_first),
        cmocka_unit_test(who_must_go_for_another_reason_is_not_moved_for_its_labels),
        cmocka_unit_test(tied_packed_and_waiting_units_stay_where_they_are),
        cmocka_unit_test(nothing_goes_to_or_leaves_a_node_that_is_not_open),
        cmocka_unit_test(a_move_that_has_become_worse_is_not_made),
        cmocka_unit_test(each_move_is_allowed_and_better_each_is_needed_and_nothing_is_left),
        cmocka_unit_test(what_is_left_of_a_plan_can_be_made_one_after_the_other)
)
