// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdio.h>

#include "refusals.h"
#include "printed.h"
#include "test.h"

static const char why[] = "certificate has expired";
static Refusals r;
static uint64_t now;

FIXTURE(setup) {
        r = (Refusals){};
        now = 1;
}

static bool take(const char *address, const char *reason) {
        return refusals_take(&r, address, reason, now);
}

static void assert_nothing_due(bool all) {
        Refusal f;

        assert_false(refusals_next(&r, now, all, &f));
}

static void assert_due(bool all, const char *address, const char *reason, uint64_t more) {
        Refusal f;

        assert_true(refusals_next(&r, now, all, &f));
        assert_string_equal(f.address, address);
        assert_string_equal(f.why, reason);
        assert_int_equal(f.more, more);
}

static void the_first_is_said_and_the_others_are_counted(void **state) {
        assert_true(take("10.0.0.9", why));
        for (int i = 0; i < 1000; i++)
                assert_false(take("10.0.0.9", why));
        assert_true(take("10.0.0.9", "no certificate"));
        assert_true(take("10.0.0.8", why));
        assert_nothing_due(false);
        now += REFUSALS_SPAN_US;
        assert_due(false, "10.0.0.9", why, 1000);
        assert_nothing_due(false);
        assert_true(take("10.0.0.9", why)); // and begins anew
        assert_false(take("10.0.0.9", why));
}

static void what_was_counted_is_said_at_the_end(void **state) {
        take("10.0.0.9", why);
        take("10.0.0.9", why);
        take("10.0.0.8", why);
        assert_nothing_due(false);
        assert_due(true, "10.0.0.9", why, 1);
        assert_nothing_due(true);
}

static void many_addresses_are_not_many_lines(void **state) {
        unsigned taken = 0;

        for (unsigned i = 0; i < 1000; i++) {
                taken += take(printed("2001:db8::%x", i), why);
        }
        assert_int_equal(taken, REFUSALS_MAX);
        now += REFUSALS_SPAN_US;
        assert_due(false, "", "", 1000 - REFUSALS_MAX);
        assert_nothing_due(false);
        assert_true(take("10.0.0.9", why)); // there is room again
}

RUN_TESTS(
        cmocka_unit_test_setup(the_first_is_said_and_the_others_are_counted, setup),
        cmocka_unit_test_setup(what_was_counted_is_said_at_the_end, setup),
        cmocka_unit_test_setup(many_addresses_are_not_many_lines, setup)
)
