// SPDX-License-Identifier: LGPL-2.1-or-later
#include <math.h>

#define exp our_exp
#define log our_log
#define round our_round
#include "../../../src/daemon/core/jemalloc-math.c"
#undef exp
#undef log
#undef round

#include "test.h"

static void is_near(double ours, double libms) {
        assert_true(fabs(ours - libms) <= 1e-12 * fmax(1, fabs(libms)));
}

static void what_samples_are_made_of_is_as_libm_has_it(void **state) {
        for (double x = 0x1p-53; x < 1e18; x *= 1.37) {
                is_near(our_log(x), log(x));
                is_near(our_round(x), round(x));
                is_near(our_round(-x), round(-x));
        }
        for (double x = -700; x < 700; x += 0.37)
                assert_true(fabs(our_exp(x) / exp(x) - 1) < 1e-12);
        is_near(our_log(1), 0);
        is_near(our_exp(0), 1);
}

static void at_the_ends_there_is_an_answer(void **state) {
        assert_true(our_exp(1e9) > 1e300);
        assert_true(our_exp(-1e9) == 0);
        assert_true(our_log(0) < -700);
        assert_true(our_log(-1) < -700);
        assert_true(our_round(1e300) == 1e300);
}

RUN_TESTS(
        cmocka_unit_test(what_samples_are_made_of_is_as_libm_has_it),
        cmocka_unit_test(at_the_ends_there_is_an_answer)
)
