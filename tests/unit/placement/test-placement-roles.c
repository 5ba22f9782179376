// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who goes next, and who gives way: roles, their limits and guarantees, and priorities.
#include "placement-words.h"

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

RUN_TESTS(
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
        cmocka_unit_test(what_becomes_free_and_who_gives_way_are_enough_together)
)
