// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "turn-times.h"

static void a_turn_counts_up_to_the_first_bound_that_holds_it(void **state) {
        TurnTimes t = {};
        uint64_t all[TURN_BOUNDS + 1];

        turn_times_add(&t, 0);
        turn_times_add(&t, turn_bounds_us[0]);
        turn_times_add(&t, turn_bounds_us[0] + 1);
        turn_times_add(&t, turn_bounds_us[TURN_BOUNDS - 1] + 1);
        turn_times_cumulate(&t, all);
        assert_int_equal(all[0], 2);
        assert_int_equal(all[1], 3);
        assert_int_equal(all[TURN_BOUNDS - 1], 3);
        assert_int_equal(all[TURN_BOUNDS], 4);
        assert_int_equal(t.sum_us, 2 * turn_bounds_us[0] + 1 + turn_bounds_us[TURN_BOUNDS - 1] + 1);
}

static void bounds_ascend(void **state) {
        for (size_t i = 1; i < TURN_BOUNDS; i++)
                assert_true(turn_bounds_us[i - 1] < turn_bounds_us[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_turn_counts_up_to_the_first_bound_that_holds_it),
                cmocka_unit_test(bounds_ascend),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
