// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "../../../src/sysd/bus/bus-pace.h"

// Readings one after the other, each so long after the rest that the one before asked for; returns the rest
// after the last.
static uint64_t read_often(BusPace *p, unsigned n, uint64_t gap_us, uint64_t *now_us) {
        uint64_t rest_us = 0;

        for (unsigned i = 0; i < n; i++) {
                *now_us += rest_us + gap_us;
                rest_us = bus_pace(p, 2, *now_us);
        }
        return rest_us;
}

static void a_single_message_is_read_at_once(void **state) {
        BusPace p = {};
        uint64_t now_us = 1000000;

        assert_int_equal(read_often(&p, 100, BUS_CLOSE_US + 1, &now_us), 0);
}

static void the_start_of_one_unit_is_not_slowed_down(void **state) {
        BusPace p = {};
        uint64_t now_us = 1000000;

        assert_int_equal(read_often(&p, BUS_CLOSE_WAKES, 100, &now_us), 0);
}

static void a_steady_trickle_is_read_in_bursts(void **state) {
        BusPace p = {};
        uint64_t now_us = 1000000;

        assert_int_equal(read_often(&p, BUS_CLOSE_WAKES + 1, 100, &now_us), BUS_REST_US);
        assert_int_equal(read_often(&p, 1000, 100, &now_us), BUS_REST_US);
}

static void a_rest_in_vain_is_the_last(void **state) {
        BusPace p = {};
        uint64_t now_us = 1000000;

        assert_int_equal(read_often(&p, 100, 100, &now_us), BUS_REST_US);
        assert_int_equal(bus_pace(&p, 0, now_us + BUS_REST_US), 0);
        assert_int_equal(bus_pace(&p, 1, now_us + BUS_REST_US + 1), 0);
}

static void after_some_quiet_it_is_read_at_once(void **state) {
        BusPace p = {};
        uint64_t now_us = 1000000;

        assert_int_equal(read_often(&p, 100, 100, &now_us), BUS_REST_US);
        assert_int_equal(bus_pace(&p, 1, now_us + BUS_REST_US + BUS_CLOSE_US + 1), 0);
}

RUN_TESTS(
        cmocka_unit_test(a_single_message_is_read_at_once),
        cmocka_unit_test(the_start_of_one_unit_is_not_slowed_down),
        cmocka_unit_test(a_steady_trickle_is_read_in_bursts),
        cmocka_unit_test(a_rest_in_vain_is_the_last),
        cmocka_unit_test(after_some_quiet_it_is_read_at_once)
)
