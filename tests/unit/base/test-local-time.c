// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "local-time.h"

static int hour_in(const char *zone) {
        struct tm tm;

        assert_int_equal(setenv("TZ", zone, 1), 0);
        assert_true(local_time(UINT64_C(1784541600000000), &tm)); // 2026-07-20 10:00:00 UTC
        return tm.tm_hour;
}

static void a_zone_that_was_changed_counts_at_once(void **state) {
        assert_int_equal(hour_in("UTC0"), 10);
        assert_int_equal(hour_in("JST-9"), 19);
        assert_int_equal(hour_in("EST5"), 5);
}

RUN_TESTS(
        cmocka_unit_test(a_zone_that_was_changed_counts_at_once)
)
