// SPDX-License-Identifier: LGPL-2.1-or-later
#include "clock.h"
#include "test.h"
#include "utc-time.h"

static void a_moment_is_told_in_utc(void **state) {
        char text[UTC_TIME_SIZE];

        utc_time_format(0, text);
        assert_string_equal(text, "1970-01-01 00:00:00 UTC");
        utc_time_format(UINT64_C(1795860000) * USEC_PER_SEC + 999999, text);
        assert_string_equal(text, "2026-11-28 10:00:00 UTC");
        utc_time_format(UINT64_MAX, text); // a clock that is wrong by ages
        assert_true(strlen(text) < UTC_TIME_SIZE);
}

RUN_TESTS(
        cmocka_unit_test(a_moment_is_told_in_utc)
)
