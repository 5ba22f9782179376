// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include "../../../src/placement/placement-private.h"
#include "str.h"

enum { SEC = 1000000 };

typedef struct Fixture {
        Placement *p;
        uint32_t role, class; // without limits; without demands
        uint32_t nodes[8], hosts[8];
} Fixture;

static const PlacementRole plain = {.weight = 1, .limit = {-1, -1, -1, -1, -1, -1, -1, -1}};

static uint32_t class_of(Fixture *f, const PlacementSpec *spec) {
        uint32_t class;

        assert_int_equal(placement_class_get(f->p, spec, &class), 0);
        return class;
}

static uint32_t needing(Fixture *f, int32_t cpu) {
        return class_of(f, &(PlacementSpec){.demand = {{cpu}}});
}

// So many hosts of 4 cores, rack=r0, r1, r0, ...
static Fixture *hosts(int n) {
        static const char *const racks[] = {"r0", "r1"};
        Fixture *f = calloc(1, sizeof *f);

        f->p = placement_new();
        assert_int_equal(placement_role_add(f->p, &plain, &f->role), 0);
        for (int i = 0; i < n; i++) {
                PlacementLabel rack = {"rack", racks[i % 2]};

                placement_host_add(f->p, &(PlacementVector){{4000, 4096}}, PLACEMENT_SIZE_ONE, &f->hosts[i]);
                placement_node_add(f->p, f->hosts[i], &rack, 1, &f->nodes[i]);
                placement_node_set_state(f->p, f->nodes[i], PLACEMENT_OPEN);
        }
        f->class = class_of(f, &(PlacementSpec){});
        return f;
}

static void done(Fixture *f) {
        placement_free(f->p);
        free(f);
}
DEFINE_CLEANUP(Fixture *, done)

static uint32_t add_for(Fixture *f, const char *name, uint32_t class, uint32_t role, int16_t priority) {
        uint32_t u;

        placement_unit_add(f->p, name, class, role, priority, &u);
        placement_unit_want(f->p, u, true);
        return u;
}

static uint32_t add(Fixture *f, const char *name, uint32_t class) {
        return add_for(f, name, class, f->role, 0);
}

// What a round decides, as "unit>node" in a row; P>node before a preempted one.
static const char *round_at(Fixture *f, uint64_t now_us, size_t disruptions) {
        static char text[512];
        const PlacementDecision *d;
        size_t n, len = 0;

        placement_round(f->p, now_us, &(PlacementBudget){100, disruptions}, &d, &n);
        *text = 0;
        for (size_t i = 0; i < n; i++)
                len += (size_t) snprintf(text + len, sizeof text - len, "%s%u>%d", len ? " " : "", d[i].unit,
                                         (int) d[i].to);
        return text;
}

static uint32_t at(Fixture *f, uint32_t unit) {
        return unit_node(f->p, unit);
}

// ------------------------------------------------------------------------------------------------ following

static void a_pair_starts_together_and_migrates_together(void **state) {
        _cleanup_(donep) Fixture *f = hosts(3);
        uint32_t other = add(f, "other", needing(f, 3000)), db = add(f, "db", needing(f, 1000)),
                 web = add(f, "web", needing(f, 2000));

        assert_int_equal(placement_unit_follow(f->p, web, db), 0);
        round_at(f, 0, 0);
        assert_int_equal(at(f, other), 0);
        assert_int_equal(at(f, db), at(f, web));
        placement_node_set_state(f->p, at(f, db), PLACEMENT_LOST);
        placement_unit_release(f->p, db, true);
        placement_unit_release(f->p, web, true);
        round_at(f, SEC, 0);
        assert_int_equal(at(f, db), 2); // node 0 has room for one of them only
        assert_int_equal(at(f, web), 2);
}

static void who_follows_nobody_that_runs_waits(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t db, web = add(f, "web", f->class);

        placement_unit_add(f->p, "db", f->class, f->role, 0, &db); // not wanted
        assert_int_equal(placement_unit_follow(f->p, web, db), 0);
        assert_string_equal(round_at(f, 0, 0), "");
        placement_unit_want(f->p, db, true);
        round_at(f, 0, 0);
        assert_true(at(f, web) != PLACEMENT_NONE);
        assert_int_equal(at(f, web), at(f, db));
}

static void a_follower_that_has_no_room_does_not_keep_its_target_down(void **state) {
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t db = add(f, "db", needing(f, 3000)), web = add(f, "web", needing(f, 3000));

        assert_int_equal(placement_unit_follow(f->p, web, db), 0);
        round_at(f, 0, 0);
        assert_int_equal(at(f, db), 0);
        assert_int_equal(at(f, web), PLACEMENT_NONE);
}

// It would be followed to wherever it goes, and replaced there again.
static void who_replaces_what_it_is_to_be_with_waits(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t replaces = class_of(f, &(PlacementSpec){.replaces = (const char *const[]){"db*", NULL}});
        uint32_t db = add(f, "db", f->class), web = add(f, "web", f->class), cache;
        PlacementRefusal *why;
        size_t n;

        assert_int_equal(placement_unit_follow(f->p, web, db), 0);
        round_at(f, 0, 0);
        assert_int_equal(at(f, web), at(f, db));
        cache = add(f, "cache", replaces);
        assert_int_equal(placement_unit_follow(f->p, cache, web), 0);
        assert_string_equal(round_at(f, SEC, 0), "");
        assert_int_equal(at(f, cache), PLACEMENT_NONE);
        assert_int_equal(placement_why(f->p, cache, &why, &n), 0);
        assert_int_equal(n, 2);
        assert_string_equal(why[at(f, db)].reason, "would replace db, with which it is to be");
        placement_refusals_free(why, n);
        placement_unit_unfollow(f->p, web);
        round_at(f, 2 * SEC, 0);
        assert_int_equal(at(f, cache), at(f, web));
        assert_true(placement_unit_must_go(f->p, db));
}

static void a_pair_that_conflicts_goes_nowhere_together(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t hates = class_of(f, &(PlacementSpec){.conflicts = (const char *const[]){"db*", NULL}});
        uint32_t db = add(f, "db", f->class), web = add(f, "web", hates);

        assert_int_equal(placement_unit_follow(f->p, web, db), 0);
        round_at(f, 0, 0);
        assert_int_not_equal(at(f, db), at(f, web));
        assert_true(at(f, db) == PLACEMENT_NONE || at(f, web) == PLACEMENT_NONE);
}

static void what_is_claimed_one_unit_of_a_node_has(void **state) {
        static const char *const port[] = {"@port 80", NULL}, *const other[] = {"@port 81", "@port 82",
                                                                                NULL};
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t a = add(f, "a", class_of(f, &(PlacementSpec){.conflicts = port})),
                 b = add(f, "b", class_of(f, &(PlacementSpec){.conflicts = port})),
                 d = add(f, "d", class_of(f, &(PlacementSpec){.conflicts = other})), c;
        PlacementRefusal *why;
        size_t n;

        round_at(f, 0, 0);
        assert_int_not_equal(at(f, a), PLACEMENT_NONE);
        assert_int_not_equal(at(f, b), PLACEMENT_NONE);
        assert_int_not_equal(at(f, a), at(f, b));
        assert_int_not_equal(at(f, d), PLACEMENT_NONE);
        c = add(f, "c", class_of(f, &(PlacementSpec){.conflicts = port}));
        round_at(f, 0, 0);
        assert_int_equal(at(f, c), PLACEMENT_NONE);
        assert_int_equal(placement_why(f->p, c, &why, &n), 0);
        assert_int_equal(n, 2);
        assert_non_null(strstr(why[0].reason, " there has port 80"));
        placement_refusals_free(why, n);
        placement_unit_want(f->p, a, false);
        round_at(f, 0, 0);
}

static void what_is_shared_all_units_of_a_node_have_alike(void **state) {
        static const char *const one[] = {"&volume data=1", NULL}, *const two[] = {"&volume data=2", NULL},
                                 *const other[] = {"&volume data2=1", NULL};
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t a = add(f, "a", class_of(f, &(PlacementSpec){.conflicts = one})),
                 b = add(f, "b", class_of(f, &(PlacementSpec){.conflicts = one})),
                 d = add(f, "d", class_of(f, &(PlacementSpec){.conflicts = other})), c;
        PlacementRefusal *why;
        size_t n;

        round_at(f, 0, 0);
        assert_int_equal(at(f, a), at(f, b));
        assert_int_not_equal(at(f, a), PLACEMENT_NONE);
        assert_int_not_equal(at(f, d), PLACEMENT_NONE);
        c = add(f, "c", class_of(f, &(PlacementSpec){.conflicts = two}));
        round_at(f, 0, 0);
        assert_int_equal(at(f, c), PLACEMENT_NONE);
        assert_int_equal(placement_why(f->p, c, &why, &n), 0);
        assert_int_equal(n, 1);
        assert_non_null(strstr(why[0].reason, " there has another volume data"));
        assert_null(strchr(why[0].reason, '='));
        placement_refusals_free(why, n);
        placement_unit_remove(f->p, a);
        round_at(f, 0, 0);
        assert_int_equal(at(f, c), PLACEMENT_NONE);
        placement_unit_remove(f->p, b);
        round_at(f, 0, 0);
        assert_int_not_equal(at(f, c), PLACEMENT_NONE);
}

static void cycles_of_colocated_units_are_refused(void **state) {
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t a = add(f, "a", f->class), b = add(f, "b", f->class), c = add(f, "c", f->class);

        assert_int_equal(placement_unit_follow(f->p, a, b), 0);
        assert_int_equal(placement_unit_follow(f->p, b, c), 0);
        assert_int_equal(placement_unit_follow(f->p, c, a), -ELOOP);
        assert_int_equal(placement_unit_follow(f->p, a, a), -ELOOP);
}

static void who_was_not_released_stays_when_whom_it_follows_goes(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t db = add(f, "db", f->class), web = add(f, "web", f->class);

        assert_int_equal(placement_unit_follow(f->p, web, db), 0);
        round_at(f, 0, 0);
        placement_unit_release(f->p, db, true);
        round_at(f, 0, 0);
        assert_int_equal(at(f, db), 1);
        assert_int_equal(at(f, web), 0);
        assert_true(placement_unit_must_go(f->p, web));
        placement_unit_release(f->p, web, true);
        round_at(f, 0, 0);
        assert_int_equal(at(f, web), 1);
}

// Nor for another one: not for whom it follows, and not for who follows it.
static void a_node_that_a_unit_must_leave_does_not_take_it_again(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t db = add(f, "db", f->class), web = add(f, "web", f->class);

        assert_int_equal(placement_unit_follow(f->p, web, db), 0);
        round_at(f, 0, 0);
        placement_unit_exclude(f->p, web, 0);
        assert_true(placement_unit_must_go(f->p, web));
        assert_int_equal(placement_move(f->p, web, SEC), PLACEMENT_NONE);
        placement_unit_readmit(f->p, web, 0);
        assert_int_equal(placement_move(f->p, web, SEC), 0);
        placement_unit_exclude(f->p, db, 0);
        placement_node_set_state(f->p, 1, PLACEMENT_CLOSED);
        assert_int_equal(placement_move(f->p, db, SEC), PLACEMENT_NONE);
        placement_node_set_state(f->p, 1, PLACEMENT_OPEN);
        assert_int_equal(placement_move(f->p, db, SEC), 1);
}

static void a_node_admits_who_would_not_have_to_leave_it(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t db = add(f, "db", f->class), web = add(f, "web", f->class);

        assert_int_equal(placement_unit_follow(f->p, web, db), 0);
        assert_true(placement_node_admits(f->p, 0, db));
        assert_false(placement_node_admits(f->p, 0, web)); // the other one is nowhere
        round_at(f, 0, 0);
        assert_true(placement_node_admits(f->p, 0, web));
        assert_false(placement_node_admits(f->p, 1, web));
        placement_unit_release(f->p, db, true); // it may go, so nobody follows it anywhere
        assert_true(placement_node_admits(f->p, 0, web));
        assert_false(placement_node_admits(f->p, 1, web));
        placement_unit_release(f->p, db, false);
        placement_unit_exclude(f->p, web, 0);
        assert_false(placement_node_admits(f->p, 0, web));
}

// As many as instances of a template that are to be where their database is.
static void many_who_follow_one_are_held_together(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t db = add(f, "db", f->class), webs[PLACEMENT_FOLLOWS_MAX];
        static char names[PLACEMENT_FOLLOWS_MAX][16];

        for (unsigned i = 0; i < PLACEMENT_FOLLOWS_MAX; i++) {
                snprintf(names[i], sizeof names[i], "web%u", i);
                webs[i] = add(f, names[i], f->class);
                assert_int_equal(placement_unit_follow(f->p, webs[i], db),
                                 i < PLACEMENT_FOLLOWS_MAX - 1 ? 0 : -E2BIG);
        }
        round_at(f, 0, 0);
        for (unsigned i = 0; i < PLACEMENT_FOLLOWS_MAX - 1; i++)
                assert_int_equal(at(f, webs[i]), at(f, db));
}

// Two layers after each other, each unit of one after both of the next: so many ways that nobody walks them
// all.
static void ways_that_part_and_meet_again_are_walked_once(void **state) {
        enum { LAYERS = 20 };
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t units[LAYERS][2];
        static char names[LAYERS][2][16];

        for (unsigned i = 0; i < LAYERS; i++)
                for (unsigned k = 0; k < 2; k++) {
                        snprintf(names[i][k], sizeof names[i][k], "u%u-%u", i, k);
                        units[i][k] = add(f, names[i][k], f->class);
                        for (unsigned t = 0; i > 0 && t < 2; t++)
                                assert_int_equal(placement_unit_follow(f->p, units[i][k], units[i - 1][t]),
                                                 0);
                }
        assert_int_equal(placement_unit_follow(f->p, units[0][0], units[LAYERS - 1][1]), -ELOOP);
}

// ------------------------------------------------------------------------------------------------ losing

static void what_is_on_a_lost_node_stays_until_it_is_released(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t u = add(f, "a", f->class);

        round_at(f, 0, 0);
        placement_node_set_state(f->p, 0, PLACEMENT_LOST);
        assert_string_equal(round_at(f, SEC, 0), "");
        assert_false(placement_unit_must_go(f->p, u));
        placement_unit_release(f->p, u, true);
        round_at(f, SEC, 0);
        assert_int_equal(at(f, u), 1);
}

// ------------------------------------------------------------------------------------------------ failing

static void a_penalty_fades(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);

        placement_host_penalise(f->p, f->hosts[0], 100, 10 * SEC, 0);
        add(f, "a", f->class);
        assert_string_equal(round_at(f, 0, 0), "0>1");
        add(f, "b", f->class);
        assert_string_equal(round_at(f, 20 * SEC, 0), "1>1"); // 25 points are more than one unit
        add(f, "c", f->class);
        assert_string_equal(round_at(f, 1000 * (uint64_t) SEC, 0), "2>0");
}

static void a_unit_stays_away_from_where_it_failed_until_it_is_readmitted(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t u = add(f, "a", f->class);

        round_at(f, 0, 0);
        placement_unit_exclude(f->p, u, 0);
        assert_true(placement_unit_must_go(f->p, u));
        placement_unit_put(f->p, u, PLACEMENT_NONE);
        round_at(f, 0, 1);
        assert_int_equal(at(f, u), 1);
        placement_unit_exclude(f->p, u, 1);
        placement_unit_put(f->p, u, PLACEMENT_NONE);
        assert_string_equal(round_at(f, 5 * SEC, 1), "");
        placement_unit_readmit(f->p, u, 0);
        round_at(f, 10 * SEC, 1);
        assert_int_equal(at(f, u), 0);
}

static void a_confined_unit_goes_only_where_it_is_admitted(void **state) {
        _cleanup_(donep) Fixture *f = hosts(4);
        uint32_t a = add(f, "a", f->class), b = add(f, "b", f->class), c = add(f, "c", f->class), node;

        placement_unit_confine(f->p, a);
        assert_int_equal(placement_move(f->p, a, SEC), PLACEMENT_NONE);
        placement_unit_admit(f->p, a, 2);
        placement_unit_admit(f->p, a, 3);
        assert_int_equal(placement_move(f->p, a, SEC), 2);
        placement_unit_put(f->p, b, 2); // now the other one is the better
        assert_int_equal(placement_unit_follow(f->p, c, a), 0);
        placement_unit_exclude(f->p, a, 2);
        assert_int_equal(placement_move(f->p, a, SEC), 3);
        placement_unit_exclude(f->p, a, 3); // that it is admitted is known beside it
        assert_int_equal(placement_move(f->p, a, SEC), PLACEMENT_NONE);
        placement_unit_readmit(f->p, a, 2);
        assert_int_equal(placement_move(f->p, a, SEC), 2);
        placement_node_add(f->p, 0, NULL, 0, &node); // one more changes nothing
        assert_true(unit_excluded(f->p, a, node));
        placement_unit_readmit(f->p, a, PLACEMENT_NONE);
        assert_false(unit_excluded(f->p, a, 0));
        assert_false(unit_excluded(f->p, a, node));
}

static void exclusions_end_one_by_one_with_their_unit_and_with_their_node(void **state) {
        enum { NODES = 8, UNITS = 20 };
        _cleanup_(donep) Fixture *f = hosts(NODES);
        bool excluded[UNITS][NODES] = {}, admitted[UNITS][NODES] = {}, confined[UNITS] = {},
             gone[NODES] = {};
        uint32_t units[UNITS];
        unsigned seed = 1;

        for (unsigned i = 0; i < UNITS; i++)
                units[i] = add(f, "u", f->class);
        for (unsigned step = 0; step < 3000; step++) {
                unsigned dice = (seed = seed * 1103515245u + 12345u) >> 16, u = dice % UNITS,
                         n = dice / UNITS % NODES;

                if (step % 500 == 499 && !gone[n]) {
                        placement_node_remove(f->p, n);
                        gone[n] = true;
                        for (unsigned i = 0; i < UNITS; i++)
                                excluded[i][n] = admitted[i][n] = false;
                } else if (step % 50 == 49 || step % 100 == 98) {
                        if (step % 50 == 49)
                                placement_unit_readmit(f->p, units[u], PLACEMENT_NONE);
                        else {
                                placement_unit_remove(f->p, units[u]);
                                units[u] = add(f, "u", f->class);
                        }
                        memset(excluded[u], 0, sizeof excluded[u]);
                        memset(admitted[u], 0, sizeof admitted[u]);
                        confined[u] = false;
                } else if (step % 40 == 7) {
                        placement_unit_confine(f->p, units[u]);
                        confined[u] = true;
                } else if (step % 4 == 1 && confined[u] && !gone[n]) {
                        placement_unit_admit(f->p, units[u], n);
                        admitted[u][n] = true;
                } else if (excluded[u][n]) {
                        placement_unit_readmit(f->p, units[u], n);
                        excluded[u][n] = false;
                } else if (!gone[n]) {
                        placement_unit_exclude(f->p, units[u], n);
                        excluded[u][n] = true;
                }
                for (unsigned i = 0; i < UNITS; i++)
                        for (unsigned k = 0; k < NODES; k++)
                                assert_int_equal(unit_excluded(f->p, units[i], k),
                                                 excluded[i][k] || (confined[i] && !admitted[i][k]));
        }
}

// ------------------------------------------------------------------------------------------------ who

static void the_role_that_has_the_least_for_its_weight_goes_next(void **state) {
        _cleanup_(donep) Fixture *f = hosts(3); // 12 cores
        uint32_t small, large, class = needing(f, 1000), n[2] = {0, 0};
        static char names[40][8];
        const PlacementDecision *d;
        size_t n_decisions;

        assert_int_equal(placement_role_add(f->p, &plain, &small), 0);
        assert_int_equal(
                placement_role_add(f->p,
                                   &(PlacementRole){.weight = 3, .limit = {-1, -1, -1, -1, -1, -1, -1, -1}},
                                   &large),
                0);
        for (int i = 0; i < 40; i++) {
                snprintf(names[i], sizeof names[i], "u%d", i);
                add_for(f, names[i], class, i < 20 ? small : large, 0);
        }
        placement_round(f->p, 0, &(PlacementBudget){100, 0}, &d, &n_decisions);
        assert_int_equal(n_decisions, 12);
        for (size_t i = 0; i < n_decisions; i++) {
                n[d[i].unit >= 20]++;
                assert_true(n[1] <= 3 * n[0] + 1 && 3 * n[0] <= n[1] + 3); // within one unit, all the way
        }
        assert_int_equal(n[0], 3);
        assert_int_equal(n[1], 9);
}

static void a_limit_holds_and_is_told(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t role, a, b;
        unsigned resource;

        assert_int_equal(placement_role_add(
                                 f->p,
                                 &(PlacementRole){.weight = 1, .limit = {1500, -1, -1, -1, -1, -1, -1, -1}},
                                 &role),
                         0);
        a = add_for(f, "a", needing(f, 1000), role, 0);
        b = add_for(f, "b", needing(f, 1000), role, 0);
        round_at(f, 0, 0);
        assert_int_equal(at(f, b), PLACEMENT_NONE);
        assert_int_equal(placement_held_back(f->p, b, &resource), PLACEMENT_OVER_LIMIT);
        assert_int_equal(resource, PLACEMENT_CPU);
        placement_unit_want(f->p, a, false);
        round_at(f, 0, 0);
        assert_true(at(f, b) != PLACEMENT_NONE);
}

static void what_is_guaranteed_to_a_role_stays_free_for_it(void **state) {
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t role, a, b, mine;
        unsigned resource;

        assert_int_equal(placement_role_add(f->p,
                                            &(PlacementRole){.weight = 1,
                                                             .guarantee = {3000},
                                                             .limit = {-1, -1, -1, -1, -1, -1, -1, -1}},
                                            &role),
                         0);
        a = add(f, "a", needing(f, 1000));
        b = add(f, "b", needing(f, 1000));
        round_at(f, 0, 0);
        assert_true(at(f, a) == 0 && at(f, b) == PLACEMENT_NONE);
        assert_int_equal(placement_held_back(f->p, b, &resource), PLACEMENT_PROMISED);
        mine = add_for(f, "mine", needing(f, 3000), role, 0);
        round_at(f, 0, 0);
        assert_int_equal(at(f, mine), 0);
}

static void a_guarantee_of_one_resource_keeps_nothing_of_another_free(void **state) {
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t role, low, high;
        unsigned resource;

        assert_int_equal(placement_role_add(f->p,
                                            &(PlacementRole){.weight = 1,
                                                             .guarantee = {0, 1},
                                                             .limit = {-1, -1, -1, -1, -1, -1, -1, -1}},
                                            &role),
                         0);
        low = add_for(f, "low", needing(f, 4000), f->role, -1); // all cores
        round_at(f, 0, 0);
        assert_int_equal(at(f, low), 0);
        high = add_for(f, "high", needing(f, 4000), f->role, 1);
        assert_int_equal(placement_held_back(f->p, high, &resource),
                         PLACEMENT_FREE); // there is no room, and that is all
        round_at(f, 0, 1);
        assert_int_equal(at(f, high), 0);
}

// Whoever was preempted would have its room back at once, and be preempted again.
static void what_a_role_would_be_promised_again_is_not_taken_from_it(void **state) {
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t role, low, all, less;

        assert_int_equal(placement_role_add(f->p,
                                            &(PlacementRole){.weight = 1,
                                                             .guarantee = {100},
                                                             .limit = {-1, -1, -1, -1, -1, -1, -1, -1}},
                                            &role),
                         0);
        low = add_for(f, "low", needing(f, 3000), role, -1);
        round_at(f, 0, 0);
        all = add_for(f, "all", needing(f, 4000), f->role, 0);
        assert_string_equal(round_at(f, 0, 1), "");
        assert_int_equal(at(f, low), 0);
        placement_unit_want(f->p, all, false);
        less = add_for(f, "less", needing(f, 3900), f->role, 0);
        round_at(f, 0, 1);
        assert_int_equal(at(f, less), 0);
        assert_int_equal(at(f, low), PLACEMENT_NONE);
}

static void a_higher_priority_takes_the_place_of_the_lowest(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t low = add_for(f, "low", needing(f, 3000), f->role, -5),
                 middle = add_for(f, "middle", needing(f, 3000), f->role, 0), high;

        round_at(f, 0, 0);
        high = add_for(f, "high", needing(f, 2000), f->role, 10);
        assert_string_equal(round_at(f, 0, 0), ""); // not without a budget
        round_at(f, 0, 1);
        assert_int_equal(at(f, low), PLACEMENT_NONE);
        assert_int_equal(at(f, middle), 0);
        assert_int_equal(at(f, high), 1);
}

static void in_a_role_at_its_limit_the_higher_preempts_its_own(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t role, low, other, high;

        assert_int_equal(placement_role_add(
                                 f->p,
                                 &(PlacementRole){.weight = 1, .limit = {2000, -1, -1, -1, -1, -1, -1, -1}},
                                 &role),
                         0);
        other = add_for(f, "other", needing(f, 1000), f->role, -9);
        low = add_for(f, "low", needing(f, 2000), role, -5);
        round_at(f, 0, 0);
        high = add_for(f, "high", needing(f, 1000), role, 10); // there is room, but not for its role
        round_at(f, 0, 9);
        assert_int_equal(at(f, low), PLACEMENT_NONE);
        assert_true(at(f, other) != PLACEMENT_NONE && at(f, high) != PLACEMENT_NONE);
        assert_string_equal(round_at(f, 0, 9), "");
}

static void what_was_made_free_for_a_unit_is_not_taken_by_another_role(void **state) {
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t poor, waiting, low, high;

        assert_int_equal(placement_role_add(f->p, &plain, &poor), 0);
        low = add_for(f, "low", needing(f, 4000), f->role, -5);
        round_at(f, 0, 0);
        waiting =
                add_for(f, "waiting", needing(f, 4000), poor, -5); // its role has nothing: it would be next
        round_at(f, 0, 0);
        high = add_for(f, "high", needing(f, 4000), f->role, 10);
        round_at(f, 0, 9);
        assert_int_equal(at(f, high), 0);
        assert_true(at(f, low) == PLACEMENT_NONE && at(f, waiting) == PLACEMENT_NONE);
}

static void nobody_gives_way_whom_a_larger_one_makes_needless(void **state) {
        _cleanup_(donep) Fixture *f = hosts(1); // 4 cores
        uint32_t low = add_for(f, "low", needing(f, 500), f->role, -5),
                 middle = add_for(f, "middle", needing(f, 500), f->role, -4),
                 large = add_for(f, "large", needing(f, 3000), f->role, -3), high;

        round_at(f, 0, 0);
        high = add_for(f, "high", needing(f, 3500), f->role, 5); // the large one and one of the others
        // low, large and high: the middle one was looked at before the large one
        assert_string_equal(round_at(f, 0, 9), "0>-1 2>-1 3>0");
        assert_int_equal(at(f, high), 0);
        assert_int_equal(at(f, low), PLACEMENT_NONE);
        assert_int_equal(at(f, large), PLACEMENT_NONE);
        assert_int_equal(at(f, middle), 0);
}

static void who_is_as_high_or_does_not_agree_is_left_alone(void **state) {
        _cleanup_(donep) Fixture *f = hosts(1); // 4 cores
        uint32_t low = add_for(f, "low", needing(f, 500), f->role, -5),
                 steady = add_for(f, "steady", needing(f, 1000), f->role, -5),
                 high = add_for(f, "high", needing(f, 2500), f->role, 5), other;

        placement_unit_set_preemptible(f->p, steady, false);
        round_at(f, 0, 0);
        other = add_for(f, "other", needing(f, 1500), f->role, 5); // low alone would not be enough
        assert_string_equal(round_at(f, 0, 9), "");
        assert_true(at(f, low) == 0 && at(f, steady) == 0 && at(f, high) == 0);
        assert_int_equal(at(f, other), PLACEMENT_NONE);
}

// What ends and who is lower are too little each.
static void what_becomes_free_and_who_gives_way_are_enough_together(void **state) {
        _cleanup_(donep) Fixture *f = hosts(1); // 4 cores
        uint32_t low = add_for(f, "low", needing(f, 2000), f->role, -5),
                 steady = add_for(f, "steady", needing(f, 2000), f->role, -5), urgent;

        placement_unit_set_preemptible(f->p, steady, false);
        round_at(f, 0, 0);
        urgent = add_for(f, "urgent", needing(f, 4000), f->role, 5);
        assert_string_equal(round_at(f, 0, 9), "");
        placement_unit_want(f->p, steady, false);
        assert_string_equal(round_at(f, 0, 9), "0>-1 2>0");
        assert_int_equal(at(f, urgent), 0);
        assert_int_equal(at(f, low), PLACEMENT_NONE);
}

static void only_who_was_released_moves(void **state) {
        const PlacementBudget budget = {.decisions = 100};
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t a = add(f, "a", needing(f, 1000)), b = add(f, "b", needing(f, 1000));
        const PlacementDecision *d;
        size_t n;

        placement_unit_put(f->p, a, 0);
        placement_unit_put(f->p, b, 0);
        placement_unit_exclude(f->p, a, 0);
        placement_round(f->p, 0, &budget, &d, &n);
        assert_int_equal(n, 0); // it must go, and stays
        placement_unit_release(f->p, b, true);
        placement_round(f->p, 0, &budget, &d, &n);
        assert_int_equal(n, 1);
        assert_true(d[0].unit == b && d[0].to == 1);
        placement_unit_release(f->p, a, true);
        placement_unit_release(f->p, a, false); // held again
        placement_round(f->p, 0, &budget, &d, &n);
        assert_int_equal(at(f, a), 0);
}

// ------------------------------------------------------------------------------------------------ the rest

// Whoever let it go may have been wrong, or the reason is gone.
static void who_was_released_and_is_nowhere_better_off_stays(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t db = add(f, "db", needing(f, 100));

        add(f, "other", needing(f, 3000));
        assert_string_equal(round_at(f, 0, 0), "0>0 1>1");
        placement_unit_release(f->p, db, true);
        assert_string_equal(round_at(f, 1, 0), "");
        assert_int_equal(at(f, db), 0);
        placement_node_set_state(f->p, 0, PLACEMENT_CLOSED);
        placement_unit_release(f->p, db, true); // it waits no more
        assert_string_equal(round_at(f, 2, 0), "0>1");
}

static void each_node_has_its_reason(void **state) {
        static const char *const r1[] = {"r1", NULL}, *const globs[] = {"db*", NULL};
        static const PlacementTerm rack = {LABEL_IN, "rack", r1};
        _cleanup_(donep) Fixture *f = hosts(6);
        uint32_t u, db = add(f, "db1", f->class), big = add(f, "big", needing(f, 3500));
        PlacementRefusal *why;
        size_t n;

        placement_unit_put(f->p, db, 1);
        placement_unit_put(f->p, big, 3);
        u = add(f, "x",
                class_of(f, &(PlacementSpec){
                                    .terms = &rack, .n_terms = 1, .conflicts = globs, .demand = {{1000}}}));
        placement_node_set_state(f->p, 5, PLACEMENT_CLOSED);
        assert_string_equal(round_at(f, 0, 0), "");
        assert_int_equal(placement_why(f->p, u, &why, &n), 0);
        assert_int_equal(n, 6);
        assert_string_equal(why[0].reason, "needs label rack=r1, has rack=r0");
        assert_string_equal(why[1].reason, "conflicts with db1 there (Conflicts=db*)");
        assert_string_equal(why[3].reason, "needs 1 core, 0.5 of 4 are free");
        assert_string_equal(why[5].reason, "the node takes no new units");
        placement_refusals_free(why, n);
}

// The host has 4 cores and 4096 MiB.
static void assert_lack(PlacementVector taken, PlacementVector needs, const char *expected) {
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t u = add(f, "taken", class_of(f, &(PlacementSpec){.demand = taken}));
        PlacementRefusal *why;
        size_t n;

        placement_unit_put(f->p, u, f->nodes[0]);
        u = add(f, "x", class_of(f, &(PlacementSpec){.demand = needs}));
        assert_int_equal(placement_why(f->p, u, &why, &n), 0);
        assert_int_equal(n, 1);
        assert_string_equal(why[0].reason, expected);
        placement_refusals_free(why, n);
}

// In the unit that was most likely written, and what is free never looks like enough.
static void what_is_lacking_is_told_as_it_was_asked_for(void **state) {
        enum { G = 1024, T = 1024 * 1024 };

        assert_lack((PlacementVector){{0, 0}}, (PlacementVector){{0, 900 * G}},
                    "needs 900G of memory, 4G of 4G are free");
        assert_lack((PlacementVector){{0, 1548}}, (PlacementVector){{0, 100 * T}},
                    "needs 100T of memory, 2.4G of 4G are free");
        assert_lack((PlacementVector){{0, 3596}}, (PlacementVector){{0, 1000}},
                    "needs 1000M of memory, 500M of 4096M are free");
        assert_lack((PlacementVector){{0, 3 * G + 1}}, (PlacementVector){{0, G}},
                    "needs 1G of memory, 1023M of 4G are free");
        assert_lack((PlacementVector){{3750, 0}}, (PlacementVector){{1000, 0}},
                    "needs 1 core, 0.25 of 4 are free");
        assert_lack((PlacementVector){{3000, 0}}, (PlacementVector){{1500, 0}},
                    "needs 1.5 cores, 1 of 4 is free");
}

// The last choice has used up the fewest, and nobody has looked for them since.
static void the_reason_knows_the_fewest_of_a_group(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t role, class, c;
        unsigned resource;
        PlacementRefusal *why;
        size_t n;

        assert_int_equal(placement_role_add(
                                 f->p,
                                 &(PlacementRole){.weight = 1, .limit = {2000, -1, -1, -1, -1, -1, -1, -1}},
                                 &role),
                         0);
        class = class_of(f, &(PlacementSpec){.spread = "rack", .spread_group = "web", .demand = {{1000}}});
        add_for(f, "web1", class, role, 0);
        add_for(f, "web2", class, role, 0);
        c = add_for(f, "web3", class, role, 0);
        assert_string_equal(round_at(f, 0, 0), "0>0 1>1");
        assert_int_equal(placement_held_back(f->p, c, &resource), PLACEMENT_OVER_LIMIT);
        assert_int_equal(placement_why(f->p, c, &why, &n), 0);
        assert_int_equal(n, 0); // one in each rack: either may have another
        placement_refusals_free(why, n);
}

static bool any_key_has(const Placement *p, const Index *ix, uint32_t selector) {
        bool any = false;

        for (uint32_t i = 0; i < INDEX_KEYS; i++)
                any |= bit_test(ix->leaf + (size_t) i * p->n_words, selector);
        for (uint32_t i = 0; i < INDEX_MIDS; i++)
                any |= bit_test(ix->mid + (size_t) i * p->n_words, selector);
        for (uint32_t i = 0; i < INDEX_TOPS; i++)
                any |= bit_test(ix->top + (size_t) i * p->n_words, selector);
        return any;
}

// Nodes of several keys have it. The last class with such terms leaves its number, which the next one takes.
static void a_selector_that_nobody_has_leaves_no_bit(void **state) {
        static const char *const r1[] = {"r1", NULL}, *const r0[] = {"r0", NULL};
        static const PlacementTerm one = {LABEL_IN, "rack", r1}, other = {LABEL_IN, "rack", r0};
        _cleanup_(donep) Fixture *f = hosts(8);
        uint32_t class, selector, next;

        placement_unit_put(f->p, add(f, "big", needing(f, 2000)), f->nodes[1]);
        placement_unit_put(f->p, add(f, "small", needing(f, 300)), f->nodes[3]);
        class = class_of(f, &(PlacementSpec){.terms = &one, .n_terms = 1});
        selector = f->p->classes[class].base;
        assert_true(any_key_has(f->p, &f->p->indexes[INDEX_LOAD], selector));
        placement_class_unref(f->p, class);
        assert_false(any_key_has(f->p, &f->p->indexes[INDEX_LOAD], selector));
        next = class_of(f, &(PlacementSpec){.terms = &other, .n_terms = 1});
        assert_int_equal(f->p->classes[next].base, selector);
        add(f, "u", next);
        assert_string_equal(round_at(f, 0, 0), "2>0");
}

static void a_unit_counts_in_the_domain_of_the_new_labels(void **state) {
        PlacementLabel red[] = {{"rack", "r1"}, {"color", "red"}}, first = {"rack", "r0"};
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t class = class_of(f, &(PlacementSpec){.spread = "rack", .spread_group = "web"});
        uint32_t key, domains[2];
        const uint32_t *counts;

        add(f, "web1", class);
        add(f, "web2", class);
        assert_string_equal(round_at(f, 0, 0), "0>0 1>1");
        label_key(f->p, "rack", &key);
        counts = f->p->groups[0].counts;
        for (unsigned i = 0; i < 2; i++)
                domains[i] = node_domain(f->p, f->nodes[i], key);
        placement_node_label(f->p, f->nodes[1], red, ELEMENTSOF(red));
        assert_int_equal(counts[domains[0]], 1);
        assert_int_equal(counts[domains[1]], 1);
        placement_node_label(f->p, f->nodes[1], &first, 1);
        assert_int_equal(counts[domains[0]], 2);
        assert_int_equal(counts[domains[1]], 0);
}

// ------------------------------------------------------------------------------------------------ memory

static size_t in_use(void) {
        struct mallinfo2 heap = mallinfo2(); // of another allocator than the C library's it says nothing

        return heap.uordblks + heap.hblkhd;
}

// A table of units that is long becomes pages of its own, and what is in it stays what it was.
static void a_long_table_keeps_what_is_in_it(void **state) {
        static char names[20000][16];
        _cleanup_(donep) Fixture *f = hosts(3);

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                str_fit(names[i], sizeof names[i], "u%zu", i);
                assert_int_equal(add(f, names[i], f->class), i);
        }
        _cleanup_(placement_freep) Placement *copy = placement_copy_named(f->p);
        for (uint32_t i = 0; i < ELEMENTSOF(names); i++) {
                assert_string_equal(placement_unit_name(f->p, i), names[i]);
                assert_string_equal(placement_unit_name(copy, i), names[i]);
        }
}

static void its_memory_is_what_the_heap_says(void **state) {
        static char names[3000][16]; // so few that no table of them leaves the heap (table_grow())
        size_t before = in_use(), empty, bytes, real;
        _cleanup_(donep) Fixture *f = hosts(3);

        empty = placement_bytes(f->p);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                str_fit(names[i], sizeof names[i], "u%zu", i);
                add(f, names[i], f->class);
        }
        bytes = placement_bytes(f->p);
        real = in_use() - before;
        assert_true(bytes - empty >= ELEMENTSOF(names) * 40);
        if (before > 0 && real > 0)
                // what the C library caches it may count otherwise
                assert_in_range(bytes, real * 9 / 10, real * 101 / 100);
}

RUN_TESTS(
        cmocka_unit_test(a_pair_starts_together_and_migrates_together),
        cmocka_unit_test(who_follows_nobody_that_runs_waits),
        cmocka_unit_test(a_follower_that_has_no_room_does_not_keep_its_target_down),
        cmocka_unit_test(who_replaces_what_it_is_to_be_with_waits),
        cmocka_unit_test(a_pair_that_conflicts_goes_nowhere_together),
        cmocka_unit_test(what_is_claimed_one_unit_of_a_node_has),
        cmocka_unit_test(what_is_shared_all_units_of_a_node_have_alike),
        cmocka_unit_test(cycles_of_colocated_units_are_refused),
        cmocka_unit_test(who_was_not_released_stays_when_whom_it_follows_goes),
        cmocka_unit_test(a_node_that_a_unit_must_leave_does_not_take_it_again),
        cmocka_unit_test(a_node_admits_who_would_not_have_to_leave_it),
        cmocka_unit_test(many_who_follow_one_are_held_together),
        cmocka_unit_test(ways_that_part_and_meet_again_are_walked_once),
        cmocka_unit_test(what_is_on_a_lost_node_stays_until_it_is_released),
        cmocka_unit_test(a_penalty_fades),
        cmocka_unit_test(a_unit_stays_away_from_where_it_failed_until_it_is_readmitted),
        cmocka_unit_test(a_confined_unit_goes_only_where_it_is_admitted),
        cmocka_unit_test(exclusions_end_one_by_one_with_their_unit_and_with_their_node),
        cmocka_unit_test(the_role_that_has_the_least_for_its_weight_goes_next),
        cmocka_unit_test(a_limit_holds_and_is_told),
        cmocka_unit_test(what_is_guaranteed_to_a_role_stays_free_for_it),
        cmocka_unit_test(a_guarantee_of_one_resource_keeps_nothing_of_another_free),
        cmocka_unit_test(what_a_role_would_be_promised_again_is_not_taken_from_it),
        cmocka_unit_test(a_higher_priority_takes_the_place_of_the_lowest),
        cmocka_unit_test(in_a_role_at_its_limit_the_higher_preempts_its_own),
        cmocka_unit_test(what_was_made_free_for_a_unit_is_not_taken_by_another_role),
        cmocka_unit_test(nobody_gives_way_whom_a_larger_one_makes_needless),
        cmocka_unit_test(who_is_as_high_or_does_not_agree_is_left_alone),
        cmocka_unit_test(what_becomes_free_and_who_gives_way_are_enough_together),
        cmocka_unit_test(only_who_was_released_moves),
        cmocka_unit_test(who_was_released_and_is_nowhere_better_off_stays),
        cmocka_unit_test(each_node_has_its_reason),
        cmocka_unit_test(what_is_lacking_is_told_as_it_was_asked_for),
        cmocka_unit_test(the_reason_knows_the_fewest_of_a_group),
        cmocka_unit_test(a_selector_that_nobody_has_leaves_no_bit),
        cmocka_unit_test(a_unit_counts_in_the_domain_of_the_new_labels),
        cmocka_unit_test(a_long_table_keeps_what_is_in_it),
        cmocka_unit_test(its_memory_is_what_the_heap_says)
)
