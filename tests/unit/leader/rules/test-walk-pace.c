// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"
#include "walk-pace.h"

enum { SHORT = WALK_PACE_SHORT_US - 1, LONG = WALK_PACE_LONG_US + 1 };

static size_t after(WalkPace *p, uint64_t turn_us) {
        walk_pace_turned(p, turn_us);
        return walk_pace_slice(p, 1600);
}

static void what_was_not_resumed_has_its_whole_slice(void **state) {
        WalkPace p = {};

        assert_int_equal(walk_pace_slice(&p, 1600), 1600);
        assert_int_equal(after(&p, LONG), 1600);
}

static void what_was_resumed_doubles_while_turns_are_short(void **state) {
        WalkPace p;

        walk_pace_resume(&p);
        assert_int_equal(walk_pace_slice(&p, 1600), 100);
        assert_int_equal(after(&p, SHORT), 200);
        assert_int_equal(after(&p, SHORT), 400);
        assert_int_equal(after(&p, SHORT), 800);
        assert_int_equal(after(&p, SHORT), 1600);
        assert_int_equal(after(&p, LONG), 1600); // it is one like others
}

static void a_long_turn_halves_it_and_one_between_changes_nothing(void **state) {
        WalkPace p;

        walk_pace_resume(&p);
        assert_int_equal(after(&p, LONG), 100); // no less than that
        assert_int_equal(after(&p, SHORT), 200);
        assert_int_equal(after(&p, SHORT), 400);
        assert_int_equal(after(&p, WALK_PACE_SHORT_US), 400);
        assert_int_equal(after(&p, WALK_PACE_LONG_US), 400);
        assert_int_equal(after(&p, LONG), 200);
}

static void each_turn_does_something(void **state) {
        WalkPace p;

        walk_pace_resume(&p);
        assert_int_equal(walk_pace_slice(&p, 3), 1);
}

RUN_TESTS(
        cmocka_unit_test(what_was_not_resumed_has_its_whole_slice),
        cmocka_unit_test(what_was_resumed_doubles_while_turns_are_short),
        cmocka_unit_test(a_long_turn_halves_it_and_one_between_changes_nothing),
        cmocka_unit_test(each_turn_does_something)
)
