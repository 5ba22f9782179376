// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "clock.h"
#include "probation.h"

#define NONE ARGOSY__PROBATION__PROBATION_NONE
#define ON ARGOSY__PROBATION__PROBATION_ON
#define PASSED ARGOSY__PROBATION__PROBATION_PASSED
#define RESTARTED ARGOSY__PROBATION__PROBATION_RESTARTED
#define ENDED ARGOSY__PROBATION__PROBATION_ENDED
#define WALL_US (UINT64_C(1700000000) * USEC_PER_SEC)

// Began at 1000 ms, as systemd says too.
static ProbationStart start;
static UnitRuntime unit;

FIXTURE(setup) {
        unit = (UnitRuntime){.active = ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE,
                             .sub = "running",
                             .result = "success",
                             .since_us = WALL_US};
        assert_int_equal(probation_begin(&unit, false, 1000, &start), ON);
}

static Argosy__Probation becomes_stamped(Argosy__ActiveState active, const char *sub, const char *result,
                                         uint64_t now_ms, uint64_t stamp_ms) {
        unit.active = (uint8_t) active;
        unit.sub = sub;
        unit.result = result;
        unit.since_us = WALL_US + stamp_ms * USEC_PER_MSEC;
        return probation_on_change(&start, &unit, false, now_ms);
}

static Argosy__Probation becomes(Argosy__ActiveState active, const char *sub, const char *result,
                                 uint64_t now_ms) {
        return becomes_stamped(active, sub, result, now_ms, now_ms - 1000);
}

static void what_stays_up_passes_with_time(void **state) {
        assert_true(start.waits);
        assert_int_equal(probation_due_ms(&start, 0), 1000 + PROBATION_MS);
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING, "reload", "success", 1050), ON);
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, "running", "success", 1060), ON);
        assert_int_equal(probation_on_time(&start), PASSED);
}

// systemd's executor may take any time, and what it fails at never was a program.
static void what_systemd_does_before_the_program_is_no_life_of_it(void **state) {
        unit.before_exec = true;
        assert_int_equal(probation_begin(&unit, false, 1000, &start), ON);
        assert_true(probation_awaits_exec(&start, 1000 + PROBATION_EXEC_MS - 1));
        assert_false(probation_awaits_exec(&start, 1000 + PROBATION_EXEC_MS)); // its word was lost
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code", 1300), NONE);
}

static void a_program_lives_from_when_it_began(void **state) {
        unit.before_exec = true;
        assert_int_equal(probation_begin(&unit, false, 1000, &start), ON);
        unit.before_exec = false;
        unit.exec_us = WALL_US + 250 * USEC_PER_MSEC;
        assert_int_equal(probation_on_change(&start, &unit, false, 1260), ON);
        assert_false(probation_awaits_exec(&start, 1260));
        assert_int_equal(probation_due_ms(&start, 0), 1260 + PROBATION_MS);
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code", 1349), NONE);
        // What had begun before the end of the job was read.
        assert_int_equal(setup(NULL), 0);
        unit.exec_us = WALL_US + 250 * USEC_PER_MSEC;
        assert_int_equal(probation_begin(&unit, false, 1260, &start), ON);
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code", 1349), NONE);
        assert_int_equal(setup(NULL), 0);
        unit.exec_us = WALL_US + 250 * USEC_PER_MSEC;
        assert_int_equal(probation_begin(&unit, false, 1260, &start), ON);
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code", 1350), PASSED);
}

static void marks_leave_together(void **state) {
        assert_int_equal(probation_due_ms(&start, 1095), 1095 + PROBATION_TICK_MS);
}

static void what_fails_is_told_by_its_state(void **state) {
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code", 1099), NONE);
}

static void what_fails_later_has_passed(void **state) {
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code", 1100), PASSED);
}

// Whenever that was read: systemd's stamps count.
static void when_an_end_was_read_does_not_matter(void **state) {
        assert_int_equal(
                becomes_stamped(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code", 1001, 5000),
                PASSED);
        setup(NULL);
        assert_int_equal(
                becomes_stamped(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code", 1500, 50), NONE);
}

static void of_an_end_that_was_not_told_the_shorter_time_counts(void **state) {
        unit.since_us = WALL_US + 102 * USEC_PER_MSEC; // of the next run, after RestartSec=
        assert_int_equal(probation_on_change(&start, &unit, true, 1002), RESTARTED);
        setup(NULL);
        unit.since_us = WALL_US + 2 * USEC_PER_MSEC;
        assert_int_equal(probation_on_change(&start, &unit, true, 1500), RESTARTED);
}

static void a_restart_is_a_failure(void **state) {
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "auto-restart", "exit-code", 1010),
                         RESTARTED);
        setup(NULL);
        assert_int_equal(probation_on_change(&start, &unit, true, 1010), RESTARTED); // it is up already
        // before its start has ended
        assert_int_equal(probation_begin(&unit, true, 1000, &start), RESTARTED);
}

static void what_ended_well_may_be_about_to_be_restarted(void **state) {
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "success", 1050), ON);
        assert_true(start.left && start.waits);
        assert_int_equal(probation_due_ms(&start, 0), 1050 + PROBATION_MS);
        assert_int_equal(probation_on_time(&start), ENDED);
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "auto-restart", "success", 1051),
                         RESTARTED);
}

// However long what comes after its process takes (ExecStopPost=).
static void who_is_waited_for_after_its_end_has_not_lived_longer(void **state) {
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING, "stop-post", "exit-code", 1005),
                         ON);
        assert_false(start.waits);
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed", "exit-code", 9000), NONE);
}

static void a_condition_of_the_program_is_no_good_end(void **state) {
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead", "exec-condition", 1005),
                         NONE);
}

static void what_remains_after_its_exit_has_passed(void **state) {
        assert_int_equal(becomes(ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, "exited", "success", 1005), PASSED);
}

RUN_TESTS(
        cmocka_unit_test_setup(what_stays_up_passes_with_time, setup),
        cmocka_unit_test_setup(what_systemd_does_before_the_program_is_no_life_of_it, setup),
        cmocka_unit_test_setup(a_program_lives_from_when_it_began, setup),
        cmocka_unit_test_setup(marks_leave_together, setup),
        cmocka_unit_test_setup(what_fails_is_told_by_its_state, setup),
        cmocka_unit_test_setup(what_fails_later_has_passed, setup),
        cmocka_unit_test_setup(when_an_end_was_read_does_not_matter, setup),
        cmocka_unit_test_setup(of_an_end_that_was_not_told_the_shorter_time_counts, setup),
        cmocka_unit_test_setup(a_restart_is_a_failure, setup),
        cmocka_unit_test_setup(what_ended_well_may_be_about_to_be_restarted, setup),
        cmocka_unit_test_setup(who_is_waited_for_after_its_end_has_not_lived_longer, setup),
        cmocka_unit_test_setup(a_condition_of_the_program_is_no_good_end, setup),
        cmocka_unit_test_setup(what_remains_after_its_exit_has_passed, setup)
)
