// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "test.h"

#include "log-trail.h"

static int setup(void **state) {
        LogTrail *t = *state = calloc(1, sizeof(LogTrail));

        if (t)
                t->jobs_max = LEADER_LIMIT_trail_jobs;
        return *state ? 0 : -1;
}

static int teardown(void **state) {
        free(*state);
        return 0;
}

static bool covers(const LogTrail *t, uint64_t index) {
        return index >= log_trail_complete_from(t) && index <= t->last;
}

static void it_knows_nothing_before_its_first_entry(void **state) {
        LogTrail *t = *state;

        assert_false(covers(t, 0));
        assert_false(covers(t, 10));
        assert_false(log_trail_on_entry(t, 10));
        assert_false(covers(t, 9));
        assert_true(covers(t, 10));
        assert_false(covers(t, 11)); // that has not come yet
        assert_true(log_trail_on_entry(t, 12));
        assert_true(covers(t, 11));
}

static void a_table_has_changed_behind_an_index(void **state) {
        LogTrail *t = *state;

        (void) log_trail_on_entry(t, 10);
        log_trail_note_table(t, 1, 77);
        assert_false(
                log_trail_table_has_changed(t, 1, 10)); // when it did so is not known, and does not matter
        (void) log_trail_on_entry(t, 11);
        log_trail_note_table(t, 1, 77);
        assert_false(log_trail_table_has_changed(t, 1, 10));
        (void) log_trail_on_entry(t, 12);
        log_trail_note_table(t, 1, 78);
        assert_true(log_trail_table_has_changed(t, 1, 10));
        assert_true(log_trail_table_has_changed(t, 1, 11));
        assert_false(log_trail_table_has_changed(t, 1, 12));
        assert_false(log_trail_table_has_changed(t, 0, 10));
}

static void jobs_come_in_their_order_and_the_oldest_are_forgotten(void **state) {
        LogTrail *t = *state;
        uint64_t index = 10;

        (void) log_trail_on_entry(t, index);
        assert_null(log_trail_job(t, 0));
        for (uint64_t i = 1; i <= LEADER_LIMIT_trail_jobs; i++) {
                (void) log_trail_on_entry(t, ++index);
                log_trail_note_job(t, i, true, index);
        }
        assert_true(10 >= log_trail_jobs_complete_from(t));
        assert_int_equal(log_trail_job(t, 0)->number, 1);
        assert_int_equal(log_trail_begin_of_job(t, 1), 11);
        (void) log_trail_on_entry(t, ++index);
        log_trail_note_job(t, 1, false, index); // it ends
        assert_int_equal(log_trail_job(t, 0)->number, 2);
        assert_int_equal(log_trail_job(t, LEADER_LIMIT_trail_jobs - 1)->number, 1);
        assert_null(log_trail_job(t, LEADER_LIMIT_trail_jobs));
        assert_false(10 >= log_trail_jobs_complete_from(t));
        assert_true(11 >= log_trail_jobs_complete_from(t));
        assert_true(covers(t, 10));
        assert_int_equal(log_trail_begin_of_job(t, 3), 13);
        assert_int_equal(log_trail_begin_of_job(t, 99999), 0);
        assert_int_equal(log_trail_begin_of_job(t, 1), 0); // where it ended is known
}

static void an_image_makes_it_forget(void **state) {
        LogTrail *t = *state;

        (void) log_trail_on_entry(t, 10);
        (void) log_trail_on_entry(t, 11);
        log_trail_note_job(t, 1, true, 11);
        log_trail_forget(t);
        assert_false(covers(t, 11));
        assert_null(log_trail_job(t, 0));
        assert_false(log_trail_on_entry(t, 50));
        assert_false(covers(t, 11));
        assert_true(covers(t, 50));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(it_knows_nothing_before_its_first_entry),
        TEST(a_table_has_changed_behind_an_index),
        TEST(jobs_come_in_their_order_and_the_oldest_are_forgotten),
        TEST(an_image_makes_it_forget)
)
