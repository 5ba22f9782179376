// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mass-loss-policy.h"
#include "test.h"

static bool on(size_t hosts, size_t suspect, size_t lost, unsigned percent) {
        return mass_loss_policy_holds(&(MassLossView){hosts, suspect, lost, percent});
}

static void one_lost_host_is_never_too_much(void **state) {
        assert_false(on(1, 0, 1, 50));
        assert_false(on(2, 0, 1, 1));
        assert_false(on(3, 0, 1, 10));
}

static void more_than_the_configured_part_is(void **state) {
        assert_false(on(10, 0, 5, 50));
        assert_true(on(10, 0, 6, 50));
        assert_true(on(3, 0, 2, 50));
        assert_false(on(5, 0, 2, 50));
        assert_true(on(100, 0, 11, 10));
        assert_false(on(100, 0, 10, 10));
}

static void a_suspect_counts_once_somebody_is_lost(void **state) {
        assert_false(on(10, 9, 0, 50));
        assert_true(on(10, 5, 1, 50));
}

static void at_a_hundred_percent_it_is_never_on(void **state) {
        assert_false(on(10, 0, 10, 100));
}

RUN_TESTS(
        cmocka_unit_test(one_lost_host_is_never_too_much),
        cmocka_unit_test(more_than_the_configured_part_is),
        cmocka_unit_test(a_suspect_counts_once_somebody_is_lost),
        cmocka_unit_test(at_a_hundred_percent_it_is_never_on)
)
