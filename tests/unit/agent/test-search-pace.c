// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "search-pace.h"

enum { SEC = 1000 * 1000 };

static void nobody_looks_unasked(void **state) {
        SearchPace p = {};

        assert_int_equal(search_pace_due(&p), 0);
        search_pace_ask(&p, 5 * SEC);
        search_pace_begin(&p, 6 * SEC);
        search_pace_end(&p, 7 * SEC);
        assert_int_equal(search_pace_due(&p), 0);
}

// The change itself, and the reload that follows it.
static void what_comes_together_is_one_look(void **state) {
        SearchPace p = {};

        search_pace_ask(&p, 5 * SEC);
        search_pace_ask(&p, 5 * SEC + SEARCH_SETTLE_US / 2);
        assert_int_equal(search_pace_due(&p), 5 * SEC + SEARCH_SETTLE_US);
}

static void what_comes_while_one_looks_is_looked_at_again(void **state) {
        SearchPace p = {};

        search_pace_ask(&p, 5 * SEC);
        search_pace_begin(&p, 6 * SEC);
        search_pace_ask(&p, 6 * SEC);
        search_pace_end(&p, 6 * SEC + 1000);
        assert_int_equal(search_pace_due(&p), 6 * SEC + 1000 + SEARCH_PAUSE_US);
        search_pace_begin(&p, 8 * SEC);
        search_pace_end(&p, 8 * SEC + 1000);
        search_pace_ask(&p, 60 * SEC); // much later
        assert_int_equal(search_pace_due(&p), 60 * SEC + SEARCH_SETTLE_US);
}

// An hour of signals without end, in directories where a look takes so long.
static void assert_share(uint64_t search_us) {
        const uint64_t hour_us = 3600 * (uint64_t) SEC;
        uint64_t now = SEC, searching = 0;
        SearchPace p = {};

        while (now < hour_us) {
                search_pace_ask(&p, now);
                now = search_pace_due(&p);
                search_pace_begin(&p, now);
                now += search_us;
                search_pace_end(&p, now);
                searching += search_us;
        }
        assert_true(searching <= hour_us / SEARCH_SHARE + search_us);
}

static void who_asks_without_end_gets_a_share_of_the_time(void **state) {
        assert_share(20 * 1000);
        assert_share(SEC);
        assert_share(10 * SEC);
}

RUN_TESTS(
        cmocka_unit_test(nobody_looks_unasked),
        cmocka_unit_test(what_comes_together_is_one_look),
        cmocka_unit_test(what_comes_while_one_looks_is_looked_at_again),
        cmocka_unit_test(who_asks_without_end_gets_a_share_of_the_time)
)
