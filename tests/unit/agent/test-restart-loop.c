// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "restart-loop.h"

enum { MIN = 60 * 1000 * 1000 };

static void three_restarts_after_failures_within_ten_minutes_are_a_loop(void **state) {
        RestartLoop loop = {};

        assert_false(restart_loop_note(&loop, 1, 1, 1 * MIN));
        assert_false(restart_loop_note(&loop, 2, 2, 5 * MIN));
        assert_true(restart_loop_note(&loop, 3, 3, 11 * (uint64_t) MIN));
        assert_true(loop.looping);
        assert_int_equal(restart_loop_ends_us(&loop), 21 * (uint64_t) MIN);
}

static void what_fails_now_and_then_does_not_loop(void **state) {
        RestartLoop loop = {};

        for (uint16_t i = 1; i < 100; i++)
                assert_false(restart_loop_note(&loop, i, i, i * (uint64_t) (5 * MIN + 1)));
}

static void what_ends_well_and_is_restarted_does_not_loop(void **state) {
        RestartLoop loop = {};

        for (uint32_t i = 1; i < 1000; i++)
                assert_false(restart_loop_note(&loop, i, 1, MIN + i));
        assert_false(loop.looping);
}

static void several_that_are_seen_at_once_count_each(void **state) {
        RestartLoop loop = {.failed = UINT16_MAX};

        assert_true(restart_loop_note(&loop, 40, 2, MIN)); // that count has begun anew
        assert_true(loop.looping);
}

static void a_loop_does_not_end_with_a_good_run_that_is_short(void **state) {
        RestartLoop loop = {};

        (void) restart_loop_note(&loop, 3, 3, MIN);
        // restarted, and not for a failure
        assert_false(restart_loop_note(&loop, 4, 3, 10 * (uint64_t) MIN));
        assert_true(loop.looping);
        assert_true(restart_loop_note(&loop, 5, 3, 11 * (uint64_t) MIN));
        assert_false(loop.looping);
}

static void a_new_start_ends_it(void **state) {
        RestartLoop loop = {};

        (void) restart_loop_note(&loop, 3, 3, MIN);
        assert_true(restart_loop_note(&loop, 0, 3, MIN + 1));
        assert_int_equal(restart_loop_ends_us(&loop), 0);
}

RUN_TESTS(
        cmocka_unit_test(three_restarts_after_failures_within_ten_minutes_are_a_loop),
        cmocka_unit_test(what_fails_now_and_then_does_not_loop),
        cmocka_unit_test(what_ends_well_and_is_restarted_does_not_loop),
        cmocka_unit_test(several_that_are_seen_at_once_count_each),
        cmocka_unit_test(a_loop_does_not_end_with_a_good_run_that_is_short),
        cmocka_unit_test(a_new_start_ends_it)
)
