// SPDX-License-Identifier: LGPL-2.1-or-later
#include "beat-pace.h"
#include "macro.h"
#include "test.h"

enum { SEC = 1000 * 1000 };

// Each beat that asks is answered at once. Returns how many of `n` asked, and the least that was left of the
// lease.
static unsigned beats_that_ask(uint64_t lease_us, uint64_t beat_us, unsigned n, uint64_t *ret_left_us) {
        BeatPace p = {.lease_until_us = 100 * SEC + lease_us, .lease_us = lease_us, .beat_us = beat_us};
        uint64_t now = 100 * SEC;
        unsigned asked = 0;

        *ret_left_us = UINT64_MAX;
        for (unsigned i = 0; i < n; i++) {
                now += beat_us + 1000; // timers are late
                assert_true(now < p.lease_until_us);
                *ret_left_us = MIN_OF(*ret_left_us, p.lease_until_us - now);
                if (beat_is_quiet(&p, now)) {
                        p.n_quiet++;
                        continue;
                }
                asked++;
                p.n_quiet = 0;
                p.lease_until_us = now + lease_us;
        }
        return asked;
}

static void one_of_three_asks_and_two_seconds_of_five_are_left(void **state) {
        uint64_t left;

        assert_int_equal(beats_that_ask(5 * SEC, SEC, 300, &left), 100);
        assert_in_range(left, 2 * SEC - 5000, 2 * SEC);
        assert_int_equal(beats_that_ask(SEC, SEC / 5, 300, &left), 100); // the shortest that is sensible
        assert_int_equal(beats_that_ask(3600 * (uint64_t) SEC, SEC, 300, &left), 100);
}

// However few beats a lease has, there is a third of it for the answer.
static void where_a_lease_has_few_beats_more_of_them_ask(void **state) {
        uint64_t left;

        assert_int_equal(beats_that_ask(4 * SEC, SEC, 300, &left), 150);
        assert_int_equal(beats_that_ask(2 * SEC, SEC, 300, &left), 300);
        for (uint64_t beat = SEC / 10; beat <= SEC / 2; beat += SEC / 100) {
                (void) beats_that_ask(SEC, beat, 300, &left);
                assert_true(left >= MIN_OF(SEC / 3, SEC - beat) - 2000);
        }
}

static void what_somebody_waits_for_is_asked_for(void **state) {
        BeatPace p = {.lease_until_us = 9 * SEC, .lease_us = 5 * SEC, .beat_us = SEC};

        assert_true(beat_is_quiet(&p, 5 * SEC));
        p.needed = true;
        assert_false(beat_is_quiet(&p, 5 * SEC));
}

RUN_TESTS(
        cmocka_unit_test(one_of_three_asks_and_two_seconds_of_five_are_left),
        cmocka_unit_test(where_a_lease_has_few_beats_more_of_them_ask),
        cmocka_unit_test(what_somebody_waits_for_is_asked_for)
)
