// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"
#include "wall-clock.h"

#define SEC INT64_C(1000000)
#define DAY (86400 * SEC)

static WallClock of_voters(size_t n) {
        const uint32_t hosts[] = {1, 2, 3, 4, 5};
        WallClock c = {};

        wall_clock_set_voters(&c, hosts, n);
        return c;
}

static void nobody_knows_before_most_were_heard(void **state) {
        WallClock c = of_voters(3);

        assert_false(c.agreed);
        assert_false(wall_clock_hear(&c, 1, 100 * SEC));
        assert_false(c.agreed);
        assert_true(wall_clock_hear(&c, 2, 101 * SEC));
        assert_true(c.agreed);
        assert_int_equal(c.offset_us, 100 * SEC + SEC / 2);
        assert_true(wall_clock_hear(&c, 3, 105 * SEC));
        assert_int_equal(c.offset_us, 101 * SEC);
}

static void one_that_is_forty_days_ahead_changes_nothing(void **state) {
        WallClock c = of_voters(3);

        (void) wall_clock_hear(&c, 1, 100 * SEC + 40 * DAY); // whoever leads, say
        (void) wall_clock_hear(&c, 2, 100 * SEC);
        assert_false(c.agreed); // which of the two is right?
        (void) wall_clock_hear(&c, 3, 101 * SEC);
        assert_true(c.agreed);
        assert_int_equal(c.offset_us, 101 * SEC); // between the third and the one that is ahead
        (void) wall_clock_hear(&c, 2, 100 * SEC - 400 * DAY);
        assert_false(c.agreed);
}

static void a_minute_is_as_much_as_clocks_may_differ(void **state) {
        WallClock c = of_voters(5);

        (void) wall_clock_hear(&c, 1, 0);
        (void) wall_clock_hear(&c, 2, 30 * SEC);
        (void) wall_clock_hear(&c, 3, 60 * SEC);
        assert_true(c.agreed);
        assert_int_equal(c.offset_us, 30 * SEC);
        assert_true(wall_clock_hear(&c, 3, 60 * SEC + 1));
        assert_false(c.agreed);
        (void) wall_clock_hear(&c, 4, 90 * SEC); // with 2 and 3
        assert_true(c.agreed);
        (void) wall_clock_hear(&c, 5, -DAY);
        assert_true(c.agreed);
        assert_int_equal(c.offset_us, 30 * SEC);
}

static void what_is_no_more_than_the_way_of_a_message_is_not_followed(void **state) {
        WallClock c = of_voters(3);

        (void) wall_clock_hear(&c, 1, 100 * SEC);
        (void) wall_clock_hear(&c, 2, 100 * SEC);
        assert_false(wall_clock_hear(&c, 3, 100 * SEC + 3000));
        assert_false(wall_clock_hear(&c, 2, 100 * SEC + 40000));
        assert_int_equal(c.offset_us, 100 * SEC);
        assert_false(wall_clock_hear(&c, 1, 100 * SEC + 45000)); // the median is 40 ms later
        assert_true(wall_clock_hear(&c, 3, 100 * SEC + 60000) || wall_clock_hear(&c, 2, 100 * SEC + 60000));
        assert_int_equal(c.offset_us, 100 * SEC + 60000);
}

static void whoever_does_not_vote_is_not_asked(void **state) {
        const uint32_t two_and_four[] = {2, 4};
        WallClock c = of_voters(3);

        assert_false(wall_clock_hear(&c, 4, 7 * SEC));
        (void) wall_clock_hear(&c, 1, 100 * SEC);
        (void) wall_clock_hear(&c, 2, 100 * SEC);
        assert_true(c.agreed);
        wall_clock_set_voters(&c, two_and_four, 2);
        assert_false(c.agreed); // one of them was heard
        assert_true(wall_clock_hear(&c, 4, 101 * SEC));
        assert_true(c.agreed);
}

static void another_term_has_heard_nobody(void **state) {
        WallClock c = of_voters(3);

        (void) wall_clock_hear(&c, 1, 100 * SEC);
        (void) wall_clock_hear(&c, 2, 100 * SEC);
        wall_clock_forget(&c);
        assert_false(c.agreed);
        assert_false(wall_clock_hear(&c, 1, 100 * SEC));
        assert_false(c.agreed);
}

RUN_TESTS(
        cmocka_unit_test(nobody_knows_before_most_were_heard),
        cmocka_unit_test(one_that_is_forty_days_ahead_changes_nothing),
        cmocka_unit_test(a_minute_is_as_much_as_clocks_may_differ),
        cmocka_unit_test(what_is_no_more_than_the_way_of_a_message_is_not_followed),
        cmocka_unit_test(whoever_does_not_vote_is_not_asked),
        cmocka_unit_test(another_term_has_heard_nobody)
)
