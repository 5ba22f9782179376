// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "clock.h"
#include "lease-length.h"

static void who_agrees_with_the_log_counts_and_gives_that(void **state) {
        assert_int_equal(lease_length_counted_ms(5000, 5000), 5000);
        assert_int_equal(lease_length_given_ms(5000, 5000), 5000);
        assert_int_equal(lease_length_log_at_us(5000, 5000, 7), 0);
}

static void a_longer_one_is_given_when_the_log_has_it(void **state) {
        assert_int_equal(lease_length_counted_ms(9000, 5000), 9000);
        assert_int_equal(lease_length_given_ms(9000, 5000), 5000);
        assert_int_equal(lease_length_log_at_us(9000, 5000, 7), 7);
}

static void a_shorter_one_is_counted_when_no_longer_one_can_last(void **state) {
        assert_int_equal(lease_length_counted_ms(1000, 5000), 5000);
        assert_int_equal(lease_length_given_ms(1000, 5000), 1000);
        assert_int_equal(lease_length_log_at_us(1000, 5000, 7), 7 + 5 * USEC_PER_SEC);
}

static void a_log_that_does_not_say_it_is_told_at_once(void **state) {
        assert_int_equal(lease_length_counted_ms(1000, 0), 1000);
        assert_int_equal(lease_length_given_ms(1000, 0), 1000);
        assert_int_equal(lease_length_log_at_us(1000, 0, 7), 7);
}

RUN_TESTS(
        cmocka_unit_test(who_agrees_with_the_log_counts_and_gives_that),
        cmocka_unit_test(a_longer_one_is_given_when_the_log_has_it),
        cmocka_unit_test(a_shorter_one_is_counted_when_no_longer_one_can_last),
        cmocka_unit_test(a_log_that_does_not_say_it_is_told_at_once)
)
