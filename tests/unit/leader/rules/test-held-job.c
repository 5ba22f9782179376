// SPDX-License-Identifier: LGPL-2.1-or-later
#include "held-job.h"
#include "macro.h"
#include "test.h"

#define ACCEPT ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT
#define HOLD ARGOSY__QUEUE_ACTION__QUEUE_HOLD
#define REFUSE ARGOSY__QUEUE_ACTION__QUEUE_REFUSE
#define LIMIT ARGOSY__QUEUE_ACTION__QUEUE_LIMIT

static void a_job_goes_when_nothing_holds_it(void **state) {
        static const struct {
                HeldJobFacts facts;
                HeldJobVerdict verdict;
        } rows[] = {
                {{}, HELD_JOB_GOES},
                {{.by_hand = true}, HELD_JOB_BY_HAND},
                {{.n_open = 2}, HELD_JOB_AFTER},
                {{.by_hand = true, .n_open = 2}, HELD_JOB_BY_HAND},
                {{.closed = true}, HELD_JOB_CLOSED},
                {{.closed = true, .action = HOLD}, HELD_JOB_CLOSED},
                {{.closed = true, .action = ACCEPT}, HELD_JOB_CLOSED}, // whatever a rule accepts
                {{.action = HOLD}, HELD_JOB_RULE},
                {{.action = LIMIT}, HELD_JOB_GOES},
                {{.action = LIMIT, .limit_full = true}, HELD_JOB_LIMIT},
                {{.action = HOLD, .by_hand = true}, HELD_JOB_BY_HAND},
                {{.is_behind = true}, HELD_JOB_BEHIND},
                {{.is_behind = true, .past_rules = true}, HELD_JOB_BEHIND},
                {{.is_behind = true, .closed = true}, HELD_JOB_CLOSED},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                HeldJobFacts new = rows[i].facts;

                new.is_new = true;
                assert_int_equal(held_job_judge(&rows[i].facts), rows[i].verdict);
                assert_int_equal(held_job_judge(&new), rows[i].verdict);
        }
}

static void who_may_change_the_rules_releases_from_all_of_them(void **state) {
        HeldJobFacts f = {.past_rules = true, .closed = true, .action = HOLD, .limit_full = true};

        assert_int_equal(held_job_judge(&f), HELD_JOB_GOES);
        f.action = REFUSE;
        assert_int_equal(held_job_judge(&f), HELD_JOB_GOES);
        f.n_open = 1; // but what was asked for this one job counts
        assert_int_equal(held_job_judge(&f), HELD_JOB_AFTER);
}

static void a_request_is_refused_at_once_and_a_job_when_it_could_begin(void **state) {
        HeldJobFacts f = {.action = REFUSE, .by_hand = true, .closed = true};

        assert_int_equal(held_job_judge(&f), HELD_JOB_BY_HAND);
        f.is_new = true;
        assert_int_equal(held_job_judge(&f), HELD_JOB_REFUSED);
        f = (HeldJobFacts){.action = REFUSE};
        assert_int_equal(held_job_judge(&f), HELD_JOB_REFUSED);
}

static void a_job_is_over_when_one_that_it_waits_for_is_not_done(void **state) {
        HeldJobFacts f = {.after_failed = true, .n_open = 1, .by_hand = true, .closed = true};

        assert_int_equal(held_job_judge(&f), HELD_JOB_OVER);
        assert_int_equal(held_job_after(ARGOSY__JOB_STATE__JOB_DONE), HELD_AFTER_DONE);
        assert_int_equal(held_job_after(ARGOSY__JOB_STATE__JOB_RUNNING), HELD_AFTER_OPEN);
        assert_int_equal(held_job_after(ARGOSY__JOB_STATE__JOB_HELD), HELD_AFTER_OPEN);
        assert_int_equal(held_job_after(ARGOSY__JOB_STATE__JOB_FAILED), HELD_AFTER_FAILED);
        assert_int_equal(held_job_after(ARGOSY__JOB_STATE__JOB_CANCELLED), HELD_AFTER_FAILED);
        assert_int_equal(held_job_after(ARGOSY__JOB_STATE__JOB_UNKNOWN), HELD_AFTER_FAILED); // nobody knows
}

RUN_TESTS(
        cmocka_unit_test(a_job_goes_when_nothing_holds_it),
        cmocka_unit_test(who_may_change_the_rules_releases_from_all_of_them),
        cmocka_unit_test(a_request_is_refused_at_once_and_a_job_when_it_could_begin),
        cmocka_unit_test(a_job_is_over_when_one_that_it_waits_for_is_not_done)
)
