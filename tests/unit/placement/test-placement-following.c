// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that mind each other: who goes where another one is, or stays away from it, and what only one of
// them has on a node, or all have alike.
#include "placement-words.h"

#include <errno.h>
#include <fnmatch.h>

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

// Its node was lost, and is back before it went elsewhere; or its file has changed, which keeps it there.
static void who_follows_one_that_stays_after_all_waits_no_longer(void **state) {
        for (unsigned changed = 0; changed < 2; changed++) {
                _cleanup_(donep) Fixture *f = hosts(1);
                uint32_t db = add(f, "db", f->class), web;

                round_at(f, 0, 0);
                assert_int_equal(at(f, db), 0);
                placement_node_set_state(f->p, 0, PLACEMENT_LOST);
                placement_unit_release(f->p, db, true);
                web = add(f, "web", f->class);
                assert_int_equal(placement_unit_follow(f->p, web, db), 0);
                assert_string_equal(round_at(f, SEC, 0), "");
                placement_node_set_state(f->p, 0, PLACEMENT_OPEN);
                if (changed)
                        placement_unit_change(f->p, db, f->class, f->role, 1);
                else
                        placement_unit_release(f->p, db, false);
                round_at(f, SEC, 0);
                assert_int_equal(at(f, web), 0);
        }
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

// Names are compared by how they begin, before they are looked at.
static void a_pattern_means_units_that_were_there_before_it(void **state) {
        static const char *const names[] = {"a", "db", "db1", "front-of-the-one", "front-of-the-one@1",
                                            "front-of-the-onE@1", "front-of-two@1"},
                                 *const patterns[] = {"*", "?b*", "db", "db*", "front-of-the-one", "[df]*1",
                                                      "front-of-*", "front-of-the-on[eE]@*",
                                                      "front-of-the-one@*", "front-of-the-\\one@?"};
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t units[ELEMENTSOF(names)];

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                units[i] = add(f, names[i], f->class);
        for (size_t k = 0; k < ELEMENTSOF(patterns); k++) {
                const char *const globs[] = {patterns[k], NULL};
                uint32_t class = class_of(f, &(PlacementSpec){.conflicts = globs}),
                         hates = add(f, "hates", class);

                placement_class_unref(f->p, class);
                for (size_t i = 0; i < ELEMENTSOF(names); i++)
                        assert_int_equal(placement_conflict_between(f->p, hates, units[i]),
                                         fnmatch(patterns[k], names[i], 0) == 0);
                placement_unit_remove(f->p, hates);
                for (size_t i = 0; i < ELEMENTSOF(names); i++)
                        assert_false(placement_may_conflict(f->p, units[i]));
        }
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
                 d = add(f, "d", class_of(f, &(PlacementSpec){.conflicts = other})), c, others[2];
        PlacementRefusal *why;
        const char *what;
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
        assert_int_equal(placement_next_other(f->p, a, PLACEMENT_NONE, &what), PLACEMENT_NONE);
        assert_int_equal(placement_next_other(f->p, c, PLACEMENT_NONE, &what), PLACEMENT_NONE);
        placement_unit_put(f->p, c, at(f, a)); // whatever is thought of it
        others[0] = placement_next_other(f->p, c, PLACEMENT_NONE, &what);
        assert_string_equal(what, "volume data=2");
        others[1] = placement_next_other(f->p, c, others[0], &what);
        assert_int_equal(MIN_OF(others[0], others[1]), MIN_OF(a, b));
        assert_int_equal(MAX_OF(others[0], others[1]), MAX_OF(a, b));
        assert_int_equal(placement_next_other(f->p, c, others[1], &what), PLACEMENT_NONE);
        placement_unit_put(f->p, c, PLACEMENT_NONE);
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

// It runs, and has to leave its node when the other one is at home elsewhere.
static void who_has_no_node_is_given_one_that_takes_who_follows_it(void **state) {
        _cleanup_(donep) Fixture *f = hosts(3);
        uint32_t db = add(f, "db", f->class), web = add(f, "web", f->class);

        assert_int_equal(placement_unit_follow(f->p, web, db), 0);
        round_at(f, 0, 0);
        placement_unit_exclude(f->p, db, 0);
        placement_unit_exclude(f->p, web, 1);
        placement_unit_put(f->p, db, PLACEMENT_NONE);
        round_at(f, 0, 0);
        assert_int_equal(at(f, db), 2);
        assert_int_equal(placement_move(f->p, web, 0), 2);
        placement_unit_exclude(f->p, db, 2);
        placement_unit_put(f->p, db, PLACEMENT_NONE);
        round_at(f, 0, 0);
        assert_int_equal(at(f, db), 1); // better apart than nowhere
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

RUN_TESTS(
        cmocka_unit_test(a_pair_starts_together_and_migrates_together),
        cmocka_unit_test(who_follows_nobody_that_runs_waits),
        cmocka_unit_test(who_follows_one_that_stays_after_all_waits_no_longer),
        cmocka_unit_test(a_follower_that_has_no_room_does_not_keep_its_target_down),
        cmocka_unit_test(who_replaces_what_it_is_to_be_with_waits),
        cmocka_unit_test(a_pair_that_conflicts_goes_nowhere_together),
        cmocka_unit_test(a_pattern_means_units_that_were_there_before_it),
        cmocka_unit_test(what_is_claimed_one_unit_of_a_node_has),
        cmocka_unit_test(what_is_shared_all_units_of_a_node_have_alike),
        cmocka_unit_test(cycles_of_colocated_units_are_refused),
        cmocka_unit_test(who_was_not_released_stays_when_whom_it_follows_goes),
        cmocka_unit_test(who_has_no_node_is_given_one_that_takes_who_follows_it),
        cmocka_unit_test(a_node_that_a_unit_must_leave_does_not_take_it_again),
        cmocka_unit_test(a_node_admits_who_would_not_have_to_leave_it),
        cmocka_unit_test(many_who_follow_one_are_held_together),
        cmocka_unit_test(ways_that_part_and_meet_again_are_walked_once)
)
