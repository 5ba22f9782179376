// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "time-histogram.h"

static void a_time_counts_up_to_the_first_bound_that_holds_it(void **state) {
        TimeHistogram t = {};
        uint64_t all[TIME_BOUNDS + 1];

        time_histogram_add(&t, 0);
        time_histogram_add(&t, time_bounds_us[0]);
        time_histogram_add(&t, time_bounds_us[0] + 1);
        time_histogram_add(&t, time_bounds_us[TIME_BOUNDS - 1] + 1);
        time_histogram_cumulate(&t, all);
        assert_int_equal(all[0], 2);
        assert_int_equal(all[1], 3);
        assert_int_equal(all[TIME_BOUNDS - 1], 3);
        assert_int_equal(all[TIME_BOUNDS], 4);
        assert_int_equal(t.sum_us, 2 * time_bounds_us[0] + 1 + time_bounds_us[TIME_BOUNDS - 1] + 1);
}

static void bounds_ascend(void **state) {
        for (size_t i = 1; i < TIME_BOUNDS; i++)
                assert_true(time_bounds_us[i - 1] < time_bounds_us[i]);
}

RUN_TESTS(
        cmocka_unit_test(a_time_counts_up_to_the_first_bound_that_holds_it),
        cmocka_unit_test(bounds_ascend)
)
