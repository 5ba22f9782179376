// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What rows can be is known by its word; what they cannot is not, and is told which there are.
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "job-state.h"
#include "messages.h"
#include "state-words.h"
#include "unit-state.h"

static bool is_known(StateWordsOf of, const char *word) {
        return state_word_is_known(of, word, strlen(word));
}

static void all_words_that_rows_have_are_known(void **state) {
        for (int i = 0; i <= ARGOSY__LOAD_STATE__LOAD_MASKED; i++)
                assert_true(is_known(STATE_WORDS_OF_UNITS, load_state_to_string((Argosy__LoadState) i)));
        for (int i = 0; i <= ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING; i++)
                assert_true(is_known(STATE_WORDS_OF_UNITS, active_state_to_string((Argosy__ActiveState) i)));
        for (int i = 1; *down_cause_to_string((Argosy__DownCause) i); i++)
                assert_true(is_known(STATE_WORDS_OF_UNITS, down_cause_to_string((Argosy__DownCause) i)));
        for (int i = 0; i <= ARGOSY__TARGET__TARGET_LAUNCHED; i++)
                assert_true(is_known(STATE_WORDS_OF_FILES, target_to_string((Argosy__Target) i)));
        for (int i = 1; i <= ARGOSY__JOB_STATE__JOB_HELD; i++)
                assert_true(is_known(STATE_WORDS_OF_JOBS, job_state_to_string((Argosy__JobState) i)));
}

static void what_no_row_is_is_refused_with_the_words(void **state) {
        _cleanup_free_ char *why = state_words_refusal(STATE_WORDS_OF_JOBS, "runnin,x", 6);

        assert_false(is_known(STATE_WORDS_OF_UNITS, "loopin"));
        assert_false(is_known(STATE_WORDS_OF_UNITS, ""));
        assert_false(is_known(STATE_WORDS_OF_NODES, "looping"));
        assert_string_equal(why, "'runnin' is no state of a job; these are: cancelled, done, failed, held, "
                                 "overtaken, running");
}

static void words_are_sorted(void **state) {
        for (int of = 0; of < STATE_WORDS_LISTS; of++)
                for (const char *const *w = state_words((StateWordsOf) of); w[1]; w++)
                        assert_true(strcmp(w[0], w[1]) < 0);
}

static void a_unit_fits_by_any_of_its_words(void **state) {
        Argosy__Response__UnitRow row = UNIT_ROW_OF(.load = (char *) "loaded", .active = (char *) "active",
                                                    .sub = (char *) "running",
                                                    .note = (char *) "looping,stale");

        assert_true(state_word_fits_unit("running", &row));
        assert_true(state_word_fits_unit("stale", &row));
        assert_false(state_word_fits_unit("loop", &row));
        assert_false(state_word_fits_unit("error", &row));
        row.error = (char *) "it does not start";
        assert_true(state_word_fits_unit("error", &row));
}

RUN_TESTS(
        cmocka_unit_test(all_words_that_rows_have_are_known),
        cmocka_unit_test(what_no_row_is_is_refused_with_the_words),
        cmocka_unit_test(words_are_sorted),
        cmocka_unit_test(a_unit_fits_by_any_of_its_words)
)
