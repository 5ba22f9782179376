// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "job-end.h"
#include "macro.h"
#include "test.h"
#include "messages.h"

#define INACTIVE ARGOSY__TARGET__TARGET_INACTIVE
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED

#define OK ARGOSY__UNIT_END__END_OK
#define FAILED ARGOSY__UNIT_END__END_FAILED
#define UNPLACED ARGOSY__UNIT_END__END_UNPLACED
#define OVERTAKEN ARGOSY__UNIT_END__END_OVERTAKEN
#define CANCELLED ARGOSY__UNIT_END__END_CANCELLED

static Argosy__JobState of_counts(uint32_t ok, uint32_t failed, uint32_t unplaced, uint32_t overtaken,
                                  uint32_t cancelled) {
        JobCounts c = {.n = {[OK] = ok,
                             [FAILED] = failed,
                             [UNPLACED] = unplaced,
                             [OVERTAKEN] = overtaken,
                             [CANCELLED] = cancelled}};

        return job_end_state(&c, false);
}

static void a_job_is_what_became_of_its_units(void **state) {
        static const struct {
                uint32_t ok, failed, unplaced, overtaken, cancelled;
                Argosy__JobState state;
        } rows[] = {
                {0, 0, 0, 0, 0, ARGOSY__JOB_STATE__JOB_DONE}, // nothing was to be waited for
                {3, 0, 0, 0, 0, ARGOSY__JOB_STATE__JOB_DONE},
                {3, 1, 0, 0, 0, ARGOSY__JOB_STATE__JOB_FAILED},
                {3, 0, 1, 0, 0, ARGOSY__JOB_STATE__JOB_FAILED},
                {0, 1, 0, 5, 5, ARGOSY__JOB_STATE__JOB_FAILED}, // whatever the others did
                {3, 0, 0, 2, 0, ARGOSY__JOB_STATE__JOB_DONE},
                {0, 0, 0, 2, 0, ARGOSY__JOB_STATE__JOB_OVERTAKEN},
                {3, 0, 0, 2, 1, ARGOSY__JOB_STATE__JOB_CANCELLED},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(of_counts(rows[i].ok, rows[i].failed, rows[i].unplaced, rows[i].overtaken,
                                           rows[i].cancelled),
                                 rows[i].state);
}

// A drain, say, has no units of its own.
static void a_job_that_was_called_off_is_cancelled_unless_it_failed(void **state) {
        const JobCounts none = {}, done = {{[OK] = 2}}, overtaken = {{[OVERTAKEN] = 2}},
                        failed = {{[FAILED] = 1}};

        assert_int_equal(job_end_state(&none, true), ARGOSY__JOB_STATE__JOB_CANCELLED);
        assert_int_equal(job_end_state(&done, true), ARGOSY__JOB_STATE__JOB_CANCELLED);
        assert_int_equal(job_end_state(&overtaken, true), ARGOSY__JOB_STATE__JOB_CANCELLED);
        assert_int_equal(job_end_state(&failed, true), ARGOSY__JOB_STATE__JOB_FAILED);
}

static void a_unit_is_what_its_wait_was_told(void **state) {
        static const struct {
                WaitVerdict verdict;
                Argosy__UnitEnd end;
        } rows[] = {
                {{.done = true}, OK},
                {{.done = true, .status = EIO}, FAILED},
                {{.done = true, .status = EAGAIN, .blocked = true}, FAILED}, // another unit does not come
                {{.done = true, .status = EAGAIN, .unplaced = true}, UNPLACED},
                {{.done = true, .status = ECANCELED}, OVERTAKEN},
                {{.done = true, .status = WAIT_MAY_RUN, .silent = true}, FAILED},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(job_end_of_unit(&rows[i].verdict), rows[i].end);
}

static Argosy__Verb waits(const char *verb, Argosy__Target now, Argosy__Target before) {
        Argosy__UnitRecord record = UNIT_RECORD_OF(.target = now);

        return job_end_wait_verb(verb, &record, before);
}

static void what_is_waited_for_is_what_was_asked(void **state) {
        assert_int_equal(waits("start", LAUNCHED, INACTIVE), ARGOSY__VERB__VERB_START);
        assert_int_equal(waits("stop", LOADED, LAUNCHED), ARGOSY__VERB__VERB_STOP);
        assert_int_equal(waits("load", LOADED, INACTIVE), ARGOSY__VERB__VERB_LOAD);
        assert_int_equal(waits("unload", INACTIVE, LAUNCHED), ARGOSY__VERB__VERB_UNLOAD);
        assert_int_equal(waits("submit", LAUNCHED, LAUNCHED), ARGOSY__VERB__VERB_NONE);
        assert_int_equal(job_end_wait_verb("destroy", NULL, LAUNCHED), ARGOSY__VERB__VERB_DESTROY);
}

// What is stopped since it depends on what goes is neither destroyed nor unloaded itself, and what is loaded
// with its socket is not started.
static void of_what_is_taken_along_it_is_waited_for_what_became_of_that(void **state) {
        assert_int_equal(waits("start", LOADED, INACTIVE), ARGOSY__VERB__VERB_LOAD);
        assert_int_equal(waits("start", LOADED, LOADED), ARGOSY__VERB__VERB_LOAD);
        assert_int_equal(waits("start", INACTIVE, INACTIVE), ARGOSY__VERB__VERB_NONE);
        assert_int_equal(waits("load", LAUNCHED, LAUNCHED), ARGOSY__VERB__VERB_LOAD);
        assert_int_equal(waits("destroy", LOADED, LAUNCHED), ARGOSY__VERB__VERB_STOP);
        assert_int_equal(waits("unload", LOADED, LAUNCHED), ARGOSY__VERB__VERB_STOP);
        assert_int_equal(waits("unload", LAUNCHED, LAUNCHED), ARGOSY__VERB__VERB_UNLOAD);
}

// Of a job that is no verb for units the records say what somebody would have asked for.
static void other_jobs_wait_for_what_the_record_says(void **state) {
        assert_int_equal(waits("rebalance", LAUNCHED, LAUNCHED), ARGOSY__VERB__VERB_START);
        assert_int_equal(waits("unknown", LOADED, LAUNCHED), ARGOSY__VERB__VERB_STOP);
        assert_int_equal(waits("", LOADED, INACTIVE), ARGOSY__VERB__VERB_LOAD);
        assert_int_equal(waits("", INACTIVE, LOADED), ARGOSY__VERB__VERB_UNLOAD);
        assert_int_equal(waits("", INACTIVE, INACTIVE), ARGOSY__VERB__VERB_NONE);
        assert_int_equal(job_end_wait_verb("", NULL, LAUNCHED), ARGOSY__VERB__VERB_DESTROY);
}

static void moves_overtake_nobody(void **state) {
        assert_false(job_end_overtakes("rebalance"));
        assert_false(job_end_overtakes("cluster remove"));
        assert_true(job_end_overtakes("start"));
        assert_true(job_end_overtakes("update"));
}

// Whatever is done at once, and may be more than one entry.
static void what_is_done_with_its_effect_waits_for_no_unit(void **state) {
        assert_true(job_end_is_effect("submit"));
        assert_true(job_end_is_effect("cluster remove"));
        assert_true(job_end_is_effect("history forget"));
        assert_true(job_end_is_effect("job cancel"));
        assert_false(job_end_is_effect("start"));
        assert_true(job_end_is_effect("token revoke"));
        assert_false(job_end_is_effect("undo"));
        assert_false(job_end_is_effect("apply"));
        assert_false(job_end_is_effect("rebalance"));
        assert_false(job_end_is_effect(""));
}

RUN_TESTS(
        cmocka_unit_test(a_job_is_what_became_of_its_units),
        cmocka_unit_test(a_job_that_was_called_off_is_cancelled_unless_it_failed),
        cmocka_unit_test(a_unit_is_what_its_wait_was_told),
        cmocka_unit_test(what_is_waited_for_is_what_was_asked),
        cmocka_unit_test(of_what_is_taken_along_it_is_waited_for_what_became_of_that),
        cmocka_unit_test(other_jobs_wait_for_what_the_record_says),
        cmocka_unit_test(moves_overtake_nobody),
        cmocka_unit_test(what_is_done_with_its_effect_waits_for_no_unit)
)
