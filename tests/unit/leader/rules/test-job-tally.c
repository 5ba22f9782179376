// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdio.h>

#include "job-tally.h"
#include "test.h"

#define DONE ARGOSY__JOB_STATE__JOB_DONE
#define FAILED ARGOSY__JOB_STATE__JOB_FAILED
#define HELD ARGOSY__JOB_STATE__JOB_HELD
#define RUNNING ARGOSY__JOB_STATE__JOB_RUNNING

static JobTally t;

FIXTURE(setup) {
        t = (JobTally){};
}

static void a_verb_keeps_its_row(void **state) {
        size_t start = job_tally_row(&t, "start"), stop = job_tally_row(&t, "stop");

        assert_int_not_equal(start, stop);
        assert_int_equal(job_tally_row(&t, "start"), start);
        assert_int_equal(t.n, 2);
        assert_string_equal(t.rows[stop].verb, "stop");
}

static void what_ends_is_not_open_any_more_and_stays_counted(void **state) {
        size_t row = job_tally_row(&t, "start");

        job_tally_begin(&t, row, HELD);
        job_tally_begin(&t, row, RUNNING);
        job_tally_leave(&t, row, RUNNING);
        job_tally_end(&t, row, FAILED);
        assert_int_equal(t.rows[row].open[RUNNING], 0);
        assert_int_equal(t.rows[row].open[HELD], 1);
        assert_int_equal(t.rows[row].ended[FAILED], 1);
        job_tally_forget_open(&t);
        assert_int_equal(t.rows[row].open[HELD], 0);
        assert_int_equal(t.rows[row].ended[FAILED], 1);
}

static void words_of_anybody_make_no_more_rows_than_there_are(void **state) {
        char verb[32];
        size_t row;

        for (unsigned i = 0; i < 3 * JOB_TALLY_ROWS; i++) {
                snprintf(verb, sizeof(verb), "verb %u", i);
                row = job_tally_row(&t, verb);
                job_tally_end(&t, row, DONE);
                // and that it stays
                assert_string_equal(t.rows[row].verb, i < JOB_TALLY_ROWS - 1 ? verb : "other");
        }
        assert_int_equal(t.n, JOB_TALLY_ROWS);
        assert_string_equal(t.rows[JOB_TALLY_ROWS - 1].verb, "other");
        assert_int_equal(t.rows[JOB_TALLY_ROWS - 1].ended[DONE], 2 * JOB_TALLY_ROWS + 1);
        assert_int_equal(t.rows[0].ended[DONE], 1);
        assert_int_equal(job_tally_row(&t, "verb 1"), 1);
}

static void long_and_empty_words_are_verbs_too(void **state) {
        size_t row = job_tally_row(&t, "a verb that nobody has ever heard of");

        assert_int_equal(job_tally_row(&t, "a verb that nobody has ever heard of"), row);
        assert_string_equal(t.rows[job_tally_row(&t, "")].verb, "other");
}

static void an_end_that_is_not_known_is_none_of_the_others(void **state) {
        size_t row = job_tally_row(&t, "start");

        job_tally_end(&t, row, (Argosy__JobState) 77);
        assert_int_equal(t.rows[row].ended[ARGOSY__JOB_STATE__JOB_UNKNOWN], 1);
}

RUN_TESTS(
        cmocka_unit_test_setup(a_verb_keeps_its_row, setup),
        cmocka_unit_test_setup(what_ends_is_not_open_any_more_and_stays_counted, setup),
        cmocka_unit_test_setup(words_of_anybody_make_no_more_rows_than_there_are, setup),
        cmocka_unit_test_setup(long_and_empty_words_are_verbs_too, setup),
        cmocka_unit_test_setup(an_end_that_is_not_known_is_none_of_the_others, setup)
)
