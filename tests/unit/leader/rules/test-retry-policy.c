// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rules of RestartElsewhere=: what counts, for how long, and how soon a unit is started again.
#include "clock.h"
#include "retry-policy.h"
#include "test.h"

#define SEC USEC_PER_SEC
#define HALF (600 * SEC)

static RetryLog log_;

FIXTURE(setup) {
        log_ = (RetryLog){};
}

// `n` failures on the node, one microsecond after the other.
static void fail_there(uint32_t node, unsigned n, uint64_t now_us) {
        for (unsigned i = 0; i < n; i++)
                assert_true(retry_policy_note(&log_, node, now_us + i + 1, HALF, now_us));
}

static void a_failure_that_is_told_twice_counts_once(void **state) {
        assert_true(retry_policy_note(&log_, 1, 77, HALF, 10 * SEC));
        assert_false(retry_policy_note(&log_, 1, 77, HALF, 20 * SEC));
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, 20 * SEC), 1);
        assert_true(retry_policy_note(&log_, 1, 78, HALF, 30 * SEC));
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, 30 * SEC), 2);
}

static void nodes_of_the_same_time_are_counted_apart(void **state) {
        assert_true(retry_policy_note(&log_, 1, 77, HALF, 0));
        assert_true(retry_policy_note(&log_, 2, 77, HALF, 0));
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, 0), 1);
        assert_int_equal(retry_policy_failures(&log_, 2, HALF, 0), 1);
        assert_int_equal(retry_policy_failures(&log_, 3, HALF, 0), 0);
        assert_int_equal(retry_policy_total(&log_, HALF, 0), 2);
}

static void failures_a_while_apart_still_add_up(void **state) {
        for (unsigned i = 0; i < 3; i++)
                assert_true(retry_policy_note(&log_, 1, i + 1, HALF, i * 30 * SEC));
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, 60 * SEC), 3);
}

static void a_failure_is_forgiven_after_one_half_life(void **state) {
        fail_there(1, 1, 5 * SEC);
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, 5 * SEC + HALF), 1);
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, 5 * SEC + HALF + HALF / 100), 0);
}

static void four_failures_are_two_after_one_half_life_and_none_at_last(void **state) {
        fail_there(1, 4, 0);
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, HALF), 2);
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, 2 * HALF), 1);
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, 4 * HALF), 0);
        assert_int_equal(retry_policy_failures(&log_, 1, HALF, 1000 * HALF), 0);
}

static void forgiven_is_when_fewer_than_the_limit_count(void **state) {
        for (unsigned limit = 1; limit <= 5; limit++) {
                log_ = (RetryLog){};
                fail_there(1, limit + 2, SEC);
                uint64_t at = retry_policy_forgiven_us(&log_, limit, HALF, SEC);
                assert_int_equal(retry_policy_failures(&log_, 1, HALF, at - HALF / 1000), limit);
                assert_int_equal(retry_policy_failures(&log_, 1, HALF, at), limit - 1);
        }
}

static void the_first_node_to_be_forgiven_counts(void **state) {
        fail_there(1, 2, 0);
        fail_there(2, 3, 0);
        fail_there(3, 1, 0); // has fewer than the limit anyway
        assert_int_equal(
                retry_policy_forgiven_us(&log_, 2, HALF, 0),
                retry_policy_forgiven_us(&(RetryLog){.nodes = {log_.nodes[0]}, .n = 1}, 2, HALF, 0));
        assert_true(retry_policy_forgiven_us(&log_, 4, HALF, 0) == RETRY_NEVER);
}

static void the_back_off_doubles_up_to_five_minutes(void **state) {
        uint64_t sum = 0;

        assert_int_equal(retry_policy_delay_us(1), SEC);
        assert_int_equal(retry_policy_delay_us(2), 2 * SEC);
        assert_int_equal(retry_policy_delay_us(5), 16 * SEC);
        assert_int_equal(retry_policy_delay_us(10), 300 * SEC);
        assert_int_equal(retry_policy_delay_us(4000000000), 300 * SEC);
        for (unsigned i = 1; i < 9; i++)
                sum += retry_policy_delay_us(i);
        assert_int_equal(sum, 255 * SEC);
}

// Fails at once wherever it is started: how often is it started in a day?
static void what_fails_everywhere_is_no_storm(void **state) {
        uint64_t now = 0, day = 24 * 3600 * SEC;
        unsigned starts = 0;

        for (; now < day; starts++) {
                uint32_t node = starts % 3 + 1;

                assert_true(retry_policy_note(&log_, node, starts + 1, HALF, now));
                now += retry_policy_delay_us(retry_policy_total(&log_, HALF, now));
        }
        assert_in_range(starts, 100, 24 * 60); // less than one a minute
}

static void many_nodes_take_no_more_room_and_the_worst_are_kept(void **state) {
        fail_there(7, 3, 0);
        for (uint32_t node = 100; node < 100 + 2 * RETRY_NODES_MAX; node++)
                fail_there(node, 1, SEC);
        assert_int_equal(log_.n, RETRY_NODES_MAX);
        assert_int_equal(retry_policy_failures(&log_, 7, HALF, SEC), 3);
        assert_int_equal(retry_policy_failures(&log_, 100 + 2 * RETRY_NODES_MAX - 1, HALF, SEC), 1);
}

RUN_TESTS(
        cmocka_unit_test_setup(a_failure_that_is_told_twice_counts_once, setup),
        cmocka_unit_test_setup(nodes_of_the_same_time_are_counted_apart, setup),
        cmocka_unit_test_setup(failures_a_while_apart_still_add_up, setup),
        cmocka_unit_test_setup(a_failure_is_forgiven_after_one_half_life, setup),
        cmocka_unit_test_setup(four_failures_are_two_after_one_half_life_and_none_at_last, setup),
        cmocka_unit_test_setup(forgiven_is_when_fewer_than_the_limit_count, setup),
        cmocka_unit_test_setup(the_first_node_to_be_forgiven_counts, setup),
        cmocka_unit_test_setup(the_back_off_doubles_up_to_five_minutes, setup),
        cmocka_unit_test_setup(what_fails_everywhere_is_no_storm, setup),
        cmocka_unit_test_setup(many_nodes_take_no_more_room_and_the_worst_are_kept, setup)
)
