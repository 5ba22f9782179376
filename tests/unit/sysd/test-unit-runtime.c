// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "../../../src/sysd/bus/unit-runtime.h"

#define LOAD(x) ARGOSY__LOAD_STATE__LOAD_##x
#define ACTIVE(x) ARGOSY__ACTIVE_STATE__ACTIVE_##x

static UnitRuntime fresh(void) {
        UnitRuntime rt;

        unit_runtime_init(&rt);
        return rt;
}

static UnitFacts state(Argosy__ActiveState active, const char *sub) {
        return (UnitFacts){.has = UNIT_FACT_ACTIVE | UNIT_FACT_SUB, .active = active, .sub = sub};
}

static void a_unit_that_goes_up_was_loaded(void **s) {
        UnitRuntime rt = fresh();
        UnitFacts f = state(ACTIVE(ACTIVATING), "start");

        unit_runtime_unload(&rt, 5);
        assert_int_equal(rt.load, LOAD(UNKNOWN));
        assert_true(unit_runtime_apply(&rt, &f, 10));
        assert_true(rt.loaded);
        assert_int_equal(rt.load, LOAD(LOADED));
        assert_string_equal(rt.sub, "start");
        assert_int_equal(rt.since_us, 10);
}

static void a_load_state_ends_with_the_unit_s_time_in_memory(void **s) {
        UnitRuntime rt = fresh();
        UnitFacts row = state(ACTIVE(ACTIVE), "running"), failed = state(ACTIVE(FAILED), "failed");

        row.has |= UNIT_FACT_LOAD;
        row.load = LOAD(ERROR);
        unit_runtime_apply(&rt, &row, 1);
        assert_int_equal(rt.load, LOAD(ERROR));
        unit_runtime_unload(&rt, 2);
        assert_int_equal(rt.load, LOAD(UNKNOWN));
        assert_true(unit_runtime_load(&rt));
        assert_int_equal(rt.load, LOAD(UNKNOWN));
        unit_runtime_apply(&rt, &failed, 3); // a start that failed before anything ran
        assert_int_equal(rt.load, LOAD(LOADED));
}

static void whether_the_program_has_begun_is_known_where_systemd_tells(void **s) {
        UnitRuntime rt = fresh();
        UnitFacts up = state(ACTIVE(ACTIVE), "running"), told = {.has = UNIT_FACT_EXEC};

        unit_runtime_apply(&rt, &up, 1);
        assert_false(rt.before_exec);
        assert_true(unit_runtime_apply(&rt, &told, 2));
        assert_true(rt.before_exec);
        told.times[UNIT_TIME_EXEC] = 3;
        assert_true(unit_runtime_apply(&rt, &told, 3));
        assert_false(unit_runtime_apply(&rt, &told, 4));
        assert_false(rt.before_exec);
        assert_int_equal(rt.exec_us, 3);
        unit_runtime_unload(&rt, 5);
        assert_int_equal(rt.exec_us, 0);
}

static void a_reset_says_nothing_of_the_file(void **s) {
        UnitRuntime rt = fresh();
        UnitFacts row = state(ACTIVE(FAILED), "failed"), reset = state(ACTIVE(INACTIVE), "dead");

        row.has |= UNIT_FACT_LOAD;
        row.load = LOAD(BAD_SETTING);
        unit_runtime_apply(&rt, &row, 1);
        unit_runtime_apply(&rt, &reset, 2);
        assert_int_equal(rt.load, LOAD(BAD_SETTING));
}

static void a_lost_file_stays_lost_while_the_unit_goes_down(void **s) {
        UnitRuntime rt = fresh();
        UnitFacts row = state(ACTIVE(ACTIVE), "running"), down = state(ACTIVE(DEACTIVATING), "stop");

        row.has |= UNIT_FACT_LOAD;
        row.load = LOAD(NOT_FOUND);
        unit_runtime_apply(&rt, &row, 1);
        unit_runtime_apply(&rt, &down, 2);
        assert_int_equal(rt.load, LOAD(NOT_FOUND));
}

static void the_same_again_is_no_change(void **s) {
        UnitRuntime rt = fresh();
        UnitFacts f = state(ACTIVE(ACTIVE), "running");

        assert_true(unit_runtime_apply(&rt, &f, 1));
        assert_false(unit_runtime_apply(&rt, &f, 2));
        assert_true(unit_runtime_unload(&rt, 3));
        assert_false(unit_runtime_unload(&rt, 4));
        assert_int_equal(rt.since_us, 3);
}

static void the_time_is_systemds_if_it_says_one(void **s) {
        UnitRuntime rt = fresh();
        UnitFacts f = state(ACTIVE(INACTIVE), "dead");

        unit_runtime_apply(&rt, &f, 7);
        assert_int_equal(rt.since_us, 0); // found so, since when is not known
        f = state(ACTIVE(ACTIVE), "running");
        f.times[UNIT_TIME_ACTIVE_ENTER] = 1234;
        unit_runtime_apply(&rt, &f, 5000);
        assert_int_equal(rt.since_us, 1234);
        f = state(ACTIVE(ACTIVE), "exited");
        unit_runtime_apply(&rt, &f, 6000);
        assert_int_equal(rt.since_us, 1234);
        f = state(ACTIVE(FAILED), "failed");
        f.times[UNIT_TIME_ACTIVE_EXIT] = 1300;
        f.times[UNIT_TIME_INACTIVE_ENTER] = 1400;
        unit_runtime_apply(&rt, &f, 7000);
        assert_int_equal(rt.since_us, 1400);
}

static void a_failure_that_was_reset_is_seen_by_the_times(void **s) {
        UnitRuntime rt = fresh();
        UnitFacts f = state(ACTIVE(INACTIVE), "dead"),
                  entered = {.has = UNIT_FACT_ENTERED, .times[UNIT_TIME_INACTIVE_ENTER] = 100},
                  changed = {.has = UNIT_FACT_CHANGED, .times[UNIT_TIME_STATE_CHANGE] = 100};

        unit_runtime_apply(&rt, &f, 7); // found so
        assert_true(unit_runtime_apply(&rt, &entered, 8));
        assert_int_equal(rt.since_us, 100);
        assert_false(unit_runtime_apply(&rt, &changed, 9));
        assert_false(rt.was_reset);
        changed.times[UNIT_TIME_STATE_CHANGE] = 200;
        assert_true(unit_runtime_apply(&rt, &changed, 9));
        assert_true(rt.was_reset);
        f = state(ACTIVE(FAILED), "failed");
        unit_runtime_apply(&rt, &f, 10);
        assert_false(rt.was_reset);
        f = state(ACTIVE(INACTIVE), "dead");
        unit_runtime_apply(&rt, &f, 11); // before our eyes
        assert_true(rt.was_reset);
        f = state(ACTIVE(ACTIVE), "running");
        unit_runtime_apply(&rt, &f, 12);
        assert_false(rt.was_reset);
        unit_runtime_apply(&rt, &entered, 13); // an answer that comes late
        unit_runtime_apply(&rt, &changed, 13);
        assert_int_equal(rt.since_us, 12);
        assert_false(rt.was_reset);
        rt = fresh();
        f = state(ACTIVE(INACTIVE), "dead");
        entered.times[UNIT_TIME_INACTIVE_ENTER] = 0; // it never ran
        unit_runtime_apply(&rt, &f, 7);
        unit_runtime_apply(&rt, &entered, 8);
        unit_runtime_apply(&rt, &changed, 8);
        assert_false(rt.was_reset);
}

static UnitFacts with_job(Argosy__ActiveState active, uint32_t job) {
        UnitFacts f = state(active, "x");

        f.has |= UNIT_FACT_JOB;
        f.job = job;
        return f;
}

static UnitEnd end_after(UnitFacts up, UnitFacts down) {
        UnitRuntime rt = fresh();

        unit_runtime_apply(&rt, &up, 1);
        unit_runtime_apply(&rt, &down, 2);
        return rt.end;
}

static void what_took_it_down_is_told_by_the_job_that_it_had_then(void **s) {
        UnitFacts up = with_job(ACTIVE(ACTIVE), 0), run = with_job(ACTIVE(INACTIVE), 0);
        UnitRuntime rt = fresh();

        assert_int_equal(end_after(up, with_job(ACTIVE(INACTIVE), 17)), UNIT_END_BY_JOB);
        assert_int_equal(end_after(up, with_job(ACTIVE(INACTIVE), 0)), UNIT_END_BY_ITSELF);
        assert_int_equal(end_after(up, state(ACTIVE(INACTIVE), "dead")), UNIT_END_UNSEEN);
        unit_runtime_apply(&rt, &up, 1);
        unit_runtime_unload(&rt, 2); // its end was not told
        assert_int_equal(rt.end, UNIT_END_UNSEEN);
        run.has |= UNIT_FACT_INVOCATION; // it came and went between two messages
        run.invocation_id[0] = 7;
        unit_runtime_apply(&rt, &run, 3);
        assert_int_equal(rt.end, UNIT_END_BY_ITSELF);
        unit_runtime_apply(&rt, &up, 4);
        assert_int_equal(rt.end, UNIT_END_UNSEEN);
}

static void conditions_count_when_they_were_looked_at(void **s) {
        UnitFacts f = {.has = UNIT_FACT_CONDITION};
        UnitRuntime rt = fresh();

        unit_runtime_apply(&rt, &f, 1);
        assert_false(rt.skipped);
        f.times[UNIT_TIME_CONDITION] = 5;
        assert_true(unit_runtime_apply(&rt, &f, 2));
        assert_true(rt.skipped);
        unit_runtime_unload(&rt, 3);
        assert_true(rt.skipped);
        f.condition = true;
        assert_true(unit_runtime_apply(&rt, &f, 4));
        assert_false(rt.skipped);
}

static void equal_words_are_no_change(void **s) {
        char one[] = "running", other[] = "running";
        UnitRuntime rt = fresh();
        UnitFacts f = state(ACTIVE(ACTIVE), one);

        assert_true(unit_runtime_apply(&rt, &f, 1));
        f.sub = other;
        assert_false(unit_runtime_apply(&rt, &f, 2));
        f.sub = "reload";
        assert_true(unit_runtime_apply(&rt, &f, 3));
        assert_string_equal(rt.sub, "reload");
}

static void results_and_runs_are_kept_after_unloading(void **s) {
        UnitRuntime rt = fresh();
        UnitFacts f = state(ACTIVE(ACTIVE), "running");

        f.has |= UNIT_FACT_RESULT | UNIT_FACT_INVOCATION;
        f.result = "success";
        memset(f.invocation_id, 7, 16);
        unit_runtime_apply(&rt, &f, 1);
        unit_runtime_unload(&rt, 2);
        assert_false(rt.loaded);
        assert_string_equal(rt.result, "success");
        assert_int_equal(rt.invocation_id[15], 7);
        assert_string_equal(rt.sub, "dead");
}

static void words_of_job_results(void **s) {
        assert_int_equal(job_result_from_string("done"), SYSTEMD_JOB_DONE);
        assert_int_equal(job_result_from_string("collected"), SYSTEMD_JOB_CANCELED);
        assert_int_equal(job_result_from_string("dependency"), SYSTEMD_JOB_DEPENDENCY);
        assert_int_equal(job_result_from_string("a-new-word"), SYSTEMD_JOB_FAILED);
        assert_string_equal(job_result_reason("done"), "");
        assert_true(strlen(job_result_reason("a-new-word")) > 0);
}

typedef struct SettleCase {
        SystemdJobKind kind;
        SystemdJobResult result;
        Argosy__ActiveState active;
        const char *sub;
        bool new_run, unloaded;
        bool settled;
        const char *what;
} SettleCase;

static const SettleCase settle_cases[] = {
        {SYSTEMD_START, SYSTEMD_JOB_DONE, ACTIVE(ACTIVE), "running", true, false, true, "started"},
        {SYSTEMD_START, SYSTEMD_JOB_DONE, ACTIVE(ACTIVE), "running", false, false, true, "was up already"},
        {SYSTEMD_START, SYSTEMD_JOB_DONE, ACTIVE(INACTIVE), "dead", false, false, false,
         "its change is still to come"},
        {SYSTEMD_START, SYSTEMD_JOB_DONE, ACTIVE(ACTIVATING), "start", true, false, false,
         "so is its last one"},
        {SYSTEMD_START, SYSTEMD_JOB_DONE, ACTIVE(ACTIVATING), "auto-restart", true, false, true,
         "ended, to be restarted"},
        {SYSTEMD_START, SYSTEMD_JOB_DONE, ACTIVE(INACTIVE), "dead", true, false, true,
         "a one-shot that has run"},
        {SYSTEMD_START, SYSTEMD_JOB_DONE, ACTIVE(FAILED), "failed", false, false, false,
         "the failure of the run before"},
        {SYSTEMD_START, SYSTEMD_JOB_DONE, ACTIVE(INACTIVE), "dead", false, true, false,
         "never seen in memory"},
        {SYSTEMD_START, SYSTEMD_JOB_DONE, ACTIVE(INACTIVE), "dead", true, true, true,
         "has run and left memory"},
        {SYSTEMD_START, SYSTEMD_JOB_FAILED, ACTIVE(INACTIVE), "dead", false, true, false,
         "never seen in memory, where it may be failed"},
        {SYSTEMD_START, SYSTEMD_JOB_FAILED, ACTIVE(INACTIVE), "dead", true, true, true,
         "has run and left memory"},
        {SYSTEMD_START, SYSTEMD_JOB_FAILED, ACTIVE(ACTIVATING), "start", true, false, false,
         "will be failed in a moment"},
        {SYSTEMD_START, SYSTEMD_JOB_FAILED, ACTIVE(FAILED), "failed", true, false, true, "failed"},
        {SYSTEMD_START, SYSTEMD_JOB_FAILED, ACTIVE(ACTIVE), "running", true, false, false, "cannot be"},
        {SYSTEMD_START, SYSTEMD_JOB_CANCELED, ACTIVE(ACTIVATING), "start", true, false, true, "any state"},
        {SYSTEMD_STOP, SYSTEMD_JOB_DONE, ACTIVE(ACTIVE), "running", false, false, false,
         "its change is still to come"},
        {SYSTEMD_STOP, SYSTEMD_JOB_DONE, ACTIVE(DEACTIVATING), "stop", false, false, false,
         "so is its last one"},
        {SYSTEMD_STOP, SYSTEMD_JOB_DONE, ACTIVE(INACTIVE), "dead", false, false, true, "stopped"},
        {SYSTEMD_STOP, SYSTEMD_JOB_DONE, ACTIVE(FAILED), "failed", false, false, true, "stopped, badly"},
        {SYSTEMD_RESTART, SYSTEMD_JOB_DONE, ACTIVE(INACTIVE), "dead", false, false, false, "in the middle"},
        {SYSTEMD_RESTART, SYSTEMD_JOB_DONE, ACTIVE(ACTIVE), "running", true, false, true, "restarted"},
        {SYSTEMD_RESTART, SYSTEMD_JOB_DONE, ACTIVE(ACTIVE), "running", false, false, false,
         "still the old run"},
};

static void jobs_wait_for_the_change_of_their_unit(void **s) {
        const uint8_t before[16] = {1};

        for (size_t i = 0; i < ELEMENTSOF(settle_cases); i++) {
                const SettleCase *c = &settle_cases[i];
                UnitRuntime rt = {
                        .loaded = !c->unloaded, .active = c->active, .invocation_id = {c->new_run ? 2 : 1}};

                rt.sub = c->sub ?: "";
                if (job_is_settled(c->kind, c->result, before, &rt) != c->settled)
                        fail_msg("case %zu: %s", i, c->what);
        }
}

RUN_TESTS(
        cmocka_unit_test(a_unit_that_goes_up_was_loaded),
        cmocka_unit_test(a_load_state_ends_with_the_unit_s_time_in_memory),
        cmocka_unit_test(whether_the_program_has_begun_is_known_where_systemd_tells),
        cmocka_unit_test(a_reset_says_nothing_of_the_file),
        cmocka_unit_test(a_lost_file_stays_lost_while_the_unit_goes_down),
        cmocka_unit_test(the_same_again_is_no_change),
        cmocka_unit_test(the_time_is_systemds_if_it_says_one),
        cmocka_unit_test(a_failure_that_was_reset_is_seen_by_the_times),
        cmocka_unit_test(what_took_it_down_is_told_by_the_job_that_it_had_then),
        cmocka_unit_test(conditions_count_when_they_were_looked_at),
        cmocka_unit_test(equal_words_are_no_change),
        cmocka_unit_test(results_and_runs_are_kept_after_unloading),
        cmocka_unit_test(words_of_job_results),
        cmocka_unit_test(jobs_wait_for_the_change_of_their_unit)
)
