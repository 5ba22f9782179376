// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs of a manager against a fake systemd: when they begin, how many at a time, and what their end is
// worth.

#include "manager-words.h"
#include "printed.h"
#include "str.h"

static void run_job(SystemdJobKind kind, const char *name) {
        unsigned before = n_jobs_done;

        job(kind, name);
        loop_until(n_jobs_done == before + 1);
}

static void a_start_ends_when_the_unit_is_up(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_and_settle("a.service");
        expect("a.service: unknown inactive dead (not loaded)\n");
        run_job(SYSTEMD_START, "a.service");
        expect("a.service: loaded active running\n"
               "start a.service: done\n");
        run_job(SYSTEMD_STOP, "a.service");
        expect("a.service: unknown inactive dead (not loaded)\n"
               "a.service: unloaded\n"
               "stop a.service: done\n");
}

static void a_failed_start_tells_the_state_first(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_FAILS);
        open_and_rest("a.service");
        run_job(SYSTEMD_START, "a.service");
        expect("a.service: loaded failed failed exit-code\n"
               "start a.service: failed\n");
        run_job(SYSTEMD_RESET_FAILED, "a.service");
        settle_down();
        assert_int_equal(active("a.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
}

// systemd answers first and tells of the change when it has time: a unit that stays in memory is not taken
// for failed meanwhile.
static void after_a_reset_the_unit_is_not_failed(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_pin(fake, "a.service", true);
        fake_systemd_set(fake, "a.service", "failed", "failed", "exit-code");
        open_and_rest("a.service");
        fake_systemd_busy(fake, true);
        run_job(SYSTEMD_RESET_FAILED, "a.service");
        expect("a.service: loaded inactive dead\n"
               "reset-failed a.service: done\n");
        fake_systemd_busy(fake, false);
        settle_down();
        expect("");
        // It fails anew before the answer is read: the newer state counts.
        fake_systemd_set(fake, "a.service", "failed", "failed", "exit-code");
        settle_down();
        forget_recorded();
        job(SYSTEMD_RESET_FAILED, "a.service");
        loop_until(fake_systemd_calls(fake, "ResetFailedUnit") == 2);
        fake_systemd_set(fake, "a.service", "failed", "failed", "signal");
        loop_until(n_jobs_done == 2);
        settle_down();
        assert_int_equal(active("a.service"), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
}

static void a_oneshot_has_run_when_its_start_ends(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_ENDS);
        open_and_watch("a.service");
        run_job(SYSTEMD_START, "a.service");
        assert_int_equal(active("a.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_true(watched_unit(manager, "a.service")->invocation_id[0] > 0);
}

// JobRemoved may overtake the unit's change: nobody hears "done" before the change.
static void the_end_of_a_job_waits_for_the_change_of_its_unit(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_and_settle("a.service");
        fake_systemd_job_first(fake, true);
        forget_recorded();
        run_job(SYSTEMD_START, "a.service");
        expect("a.service: loaded active running\n"
               "start a.service: done\n");
        run_job(SYSTEMD_RESTART, "a.service");
        expect("a.service: loaded active running\n"
               "restart a.service: done\n");
        run_job(SYSTEMD_STOP, "a.service");
        expect("a.service: unknown inactive dead (not loaded)\n"
               "a.service: unloaded\n"
               "stop a.service: done\n");
}

static void a_job_may_end_before_its_reply(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_and_watch("a.service");
        fake_systemd_end_before_reply(fake, true);
        run_job(SYSTEMD_START, "a.service");
        run_job(SYSTEMD_STOP, "a.service");
        assert_int_equal(active("a.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
}

// The unit's change was lost: it is asked for before the end is told.
static void a_job_whose_change_was_lost_asks(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_HANGS);
        open_and_watch("a.service");
        job(SYSTEMD_START, "a.service");
        loop_until(active("a.service") == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
        fake_systemd_job_first(fake, true);
        fake_systemd_cut_after(fake, -1);
        forget_recorded();
        fake_systemd_set(fake, "a.service", "activating", "start-post", NULL);
        fake_systemd_behave(fake, "a.service", FAKE_RUNS);
        fake_systemd_only_jobs(fake, true);
        fake_systemd_finish(fake, "a.service", "done");
        fake_systemd_only_jobs(fake, false);
        loop_until(n_jobs_done == 1);
        expect("a.service: loaded activating start-post\n"
               "a.service: loaded active running\n"
               "start a.service: done\n");
}

// Not even its coming into memory was told.
static void a_job_whose_unit_never_showed_asks(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_and_rest("a.service");
        fake_systemd_only_jobs(fake, true);
        run_job(SYSTEMD_START, "a.service");
        expect("a.service: loaded active running\n"
               "start a.service: done\n");
        assert_true(watched_unit(manager, "a.service")->invocation_id[0] > 0);
}

// It stays in memory, failed, with the file that it has read.
static void a_failed_job_whose_unit_never_showed_asks(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_FAILS);
        open_and_rest("a.service");
        fake_systemd_busy(fake, true);
        run_job(SYSTEMD_START, "a.service");
        fake_systemd_busy(fake, false);
        expect("a.service: loaded failed failed exit-code\n"
               "start a.service: failed\n");
}

static void what_is_not_loaded_is_stopped_already(void **state) {
        open_synced();
        run_job(SYSTEMD_STOP, "none.service");
        run_job(SYSTEMD_RESET_FAILED, "none.service");
        run_job(SYSTEMD_START, "none.service");
        expect("stop none.service: done\n"
               "reset-failed none.service: done\n"
               "start none.service: no unit, Unit none.service not found.\n");
}

// The signals by which a unit left systemd's memory were lost. The stop or reset finds no unit, and when it
// has ended the unit is known to be gone: an owner that sees it up or failed would ask for the same at once.
static void what_was_unloaded_unheard_is_known_to_be_gone_when_its_job_ends(void **state) {
        fake_systemd_add(fake, "up.service", FAKE_RUNS);
        fake_systemd_add(fake, "failed.service", FAKE_RUNS);
        fake_systemd_set(fake, "up.service", "active", "running", "success");
        fake_systemd_set(fake, "failed.service", "failed", "failed", "exit-code");
        open_and_watch("up.service");
        watch_unit(manager, "failed.service");
        settle_down();
        forget_recorded();
        fake_systemd_lose_signals(fake, true);
        fake_systemd_set(fake, "up.service", "inactive", "dead", "success");
        fake_systemd_set(fake, "failed.service", "inactive", "dead", "success");
        settle_down();
        fake_systemd_lose_signals(fake, false);
        expect("");
        run_job(SYSTEMD_STOP, "up.service");
        run_job(SYSTEMD_RESET_FAILED, "failed.service");
        expect("up.service: unknown inactive dead (not loaded)\n"
               "up.service: unloaded\n"
               "stop up.service: done\n"
               "failed.service: unknown inactive dead (not loaded) exit-code\n"
               "failed.service: unloaded\n"
               "reset-failed failed.service: done\n");
}

static void refusals_carry_systemds_words(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_REFUSES);
        open_synced();
        run_job(SYSTEMD_START, "a.service");
        expect("start a.service: refused, Operation refused, unit a.service may be requested by dependency "
               "only.\n");
}

static void a_job_that_another_replaces_is_canceled(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_HANGS);
        open_and_rest("a.service");
        job(SYSTEMD_START, "a.service");
        loop_until(active("a.service") == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
        job(SYSTEMD_STOP, "a.service");
        loop_until(n_jobs_done == 1);
        fake_systemd_finish(fake, "a.service", "done");
        loop_until(n_jobs_done == 2);
        expect("a.service: loaded activating start\n"
               "a.service: loaded deactivating stop-sigterm\n"
               "start a.service: canceled\n"
               "a.service: unknown inactive dead (not loaded)\n"
               "a.service: unloaded\n"
               "stop a.service: done\n");
}

static void few_jobs_are_in_flight_and_slow_ones_hold_nobody_up(void **state) {
        open_synced();
        for (int i = 0; i < 100; i++) {
                _cleanup_free_ char *name = str_printf("%s%d.service", i < 20 ? "slow" : "fast", i);

                fake_systemd_add(fake, name, i < 20 ? FAKE_HANGS : FAKE_RUNS);
                job(SYSTEMD_START, name);
        }
        loop_until(fake_systemd_calls(fake, "StartUnit") > 0);
        settle_down();
        assert_int_equal(fake_systemd_calls(fake, "StartUnit"),
                         SYSTEMD_JOBS_MAX); // not watched: no change frees a slot
        loop_until(n_jobs_done == 80);
        assert_int_equal(fake_systemd_calls(fake, "StartUnit"), 100);
        for (int i = 0; i < 20; i++) {
                fake_systemd_finish(fake, printed("slow%d.service", i), "done");
        }
        loop_until(n_jobs_done == 100);
}

static void the_first_change_of_a_unit_frees_its_slot(void **state) {
        enum { MANY = SYSTEMD_UNFINISHED_OF_ONE }; // 2.3 s, if each kept its slot

        open_synced();
        for (int i = 0; i < MANY; i++) {
                _cleanup_free_ char *name = str_printf("slow%d.service", i);

                fake_systemd_add(fake, name, FAKE_HANGS);
                watch_unit(manager, name);
                job(SYSTEMD_START, name);
        }
        uint64_t begin = uv_hrtime();
        loop_until(fake_systemd_calls(fake, "StartUnit") == MANY);
        assert_true(uv_hrtime() - begin <
                    (MANY / SYSTEMD_JOBS_MAX - 1) * SYSTEMD_JOB_SLOT_MS * UINT64_C(1000000));
        fake_systemd_cut(fake);
}

static void job_of(uint64_t request, SystemdJobKind kind, const char *name) {
        assert_int_equal(systemd_manager_job_of(manager, request, kind, name, on_job, NULL), 0);
}

static void unfinished_jobs_have_a_limit(void **state) {
        enum { N = SYSTEMD_UNFINISHED_OF_ONE + 10 };
        char name[32];

        open_synced();
        for (int i = 0; i < 2 * N; i++) {
                snprintf(name, sizeof(name), "slow%d.service", i);
                fake_systemd_add(fake, name, FAKE_HANGS);
                watch_unit(manager, name);
                if (i < N)
                        job_of(1, SYSTEMD_START, name);
        }
        loop_until(fake_systemd_calls(fake, "StartUnit") == SYSTEMD_UNFINISHED_OF_ONE);
        settle_down();
        assert_int_equal(fake_systemd_jobs_peak(fake), SYSTEMD_UNFINISHED_OF_ONE);
        for (int i = N; i < 2 * N; i++) { // somebody else has the rest
                snprintf(name, sizeof(name), "slow%d.service", i);
                job_of(2, SYSTEMD_START, name);
        }
        loop_until(fake_systemd_calls(fake, "StartUnit") == SYSTEMD_UNFINISHED_MAX);
        settle_down();
        assert_int_equal(fake_systemd_jobs_peak(fake), SYSTEMD_UNFINISHED_MAX);
        job_of(1, SYSTEMD_STOP, "slow0.service"); // starts that hang are no reason not to stop them
        loop_until(fake_systemd_calls(fake, "StopUnit") == 1);
        fake_systemd_finish(fake, "slow1.service", "done");
        loop_until(fake_systemd_calls(fake, "StartUnit") >= SYSTEMD_UNFINISHED_MAX + 1);
}

static void a_request_of_many_delays_another_by_a_few_jobs(void **state) {
        enum { N = 500 };
        unsigned before;

        fake_systemd_add(fake, "other.service", FAKE_RUNS);
        fake_systemd_add(fake, "one-more.service", FAKE_RUNS);
        open_synced();
        job_of(1, SYSTEMD_START, "other.service");
        loop_until(n_jobs_done == 1);
        for (int i = 0; i < N; i++) {
                _cleanup_free_ char *name = str_printf("many%d.service", i);

                fake_systemd_add(fake, name, FAKE_RUNS);
                watch_unit(manager, name);
                job_of(2, SYSTEMD_START, name);
        }
        loop_until(n_jobs_done >= 50);
        before = fake_systemd_calls(fake, "StartUnit");
        job_of(3, SYSTEMD_STOP, "other.service");
        job_of(4, SYSTEMD_START, "one-more.service");
        loop_until(fake_systemd_active(fake, "one-more.service") &&
                   !fake_systemd_active(fake, "other.service"));
        assert_true(fake_systemd_calls(fake, "StartUnit") - before <= 2 * SYSTEMD_JOBS_MAX + 2);
        loop_until(n_jobs_done == N + 3);
}

static void a_stop_cancels_a_start_that_is_still_queued(void **state) {
        SystemdStats stats;

        open_synced();
        for (int i = 0; i < SYSTEMD_JOBS_MAX; i++) {
                _cleanup_free_ char *name = str_printf("slow%d.service", i);

                fake_systemd_add(fake, name, FAKE_HANGS);
                job_of(1, SYSTEMD_START, name);
        }
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        loop_until(fake_systemd_calls(fake, "StartUnit") == SYSTEMD_JOBS_MAX);
        forget_recorded();
        job_of(1, SYSTEMD_START, "a.service");
        systemd_manager_stats(manager, &stats);
        assert_int_equal(stats.job_slots, SYSTEMD_JOBS_MAX);
        assert_int_equal(stats.job_slots_waiting, 1);
        job_of(2, SYSTEMD_STOP, "a.service");
        loop_until(n_jobs_done == 2);
        systemd_manager_stats(manager, &stats);
        assert_int_equal(stats.job_slots_waiting, 0);
        expect("start a.service: canceled\n"
               "stop a.service: done\n");
        assert_int_equal(fake_systemd_calls(fake, "StartUnit"), SYSTEMD_JOBS_MAX);
        job_of(3, SYSTEMD_RESET_FAILED,
               "a.service"); // what follows a queued job of the unit stays behind it
        job_of(4, SYSTEMD_START, "a.service");
        loop_until(n_jobs_done == 4);
        expect("reset-failed a.service: done\n"
               "start a.service: done\n");
        fake_systemd_cut(fake);
}

static void jobs_survive_a_lost_connection(void **state) {
        fake_systemd_add(fake, "long.service", FAKE_HANGS);
        fake_systemd_add(fake, "gone.service", FAKE_HANGS);
        open_and_watch("long.service");
        watch_unit(manager, "gone.service");
        job(SYSTEMD_START, "long.service");
        job(SYSTEMD_START, "gone.service");
        loop_until(active("long.service") == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING &&
                   active("gone.service") == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
        forget_recorded();
        fake_systemd_reexec(fake);
        loop_until(n_disconnected == 1);
        fake_systemd_finish(fake, "gone.service", "done");
        loop_until(n_synced == 2);
        loop_until(n_jobs_done == 1);
        expect("disconnected\n"
               "gone.service: loaded active running\n"
               "reloaded\n"
               "synced\n"
               "start gone.service: lost, the connection to systemd was lost meanwhile\n");
        fake_systemd_finish(fake, "long.service", "done");
        loop_until(n_jobs_done == 2);
        expect("long.service: loaded active running\n"
               "start long.service: done\n");
}

static void queued_jobs_wait_for_the_connection(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_synced();
        fake_systemd_refuse(fake, true);
        fake_systemd_cut(fake);
        job(SYSTEMD_START, "a.service");
        loop_until(n_disconnected == 1);
        fake_systemd_refuse(fake, false);
        loop_until(n_jobs_done == 1);
        expect("disconnected\nsynced\nstart a.service: done\n");
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

RUN_TESTS(
        T(a_start_ends_when_the_unit_is_up),
        T(a_failed_start_tells_the_state_first),
        T(after_a_reset_the_unit_is_not_failed),
        T(a_oneshot_has_run_when_its_start_ends),
        T(the_end_of_a_job_waits_for_the_change_of_its_unit),
        T(a_job_may_end_before_its_reply),
        T(a_job_whose_change_was_lost_asks),
        T(a_job_whose_unit_never_showed_asks),
        T(a_failed_job_whose_unit_never_showed_asks),
        T(what_is_not_loaded_is_stopped_already),
        T(what_was_unloaded_unheard_is_known_to_be_gone_when_its_job_ends),
        T(refusals_carry_systemds_words),
        T(a_job_that_another_replaces_is_canceled),
        T(few_jobs_are_in_flight_and_slow_ones_hold_nobody_up),
        T(the_first_change_of_a_unit_frees_its_slot),
        T(a_request_of_many_delays_another_by_a_few_jobs),
        T(unfinished_jobs_have_a_limit),
        T(a_stop_cancels_a_start_that_is_still_queued),
        T(jobs_survive_a_lost_connection),
        T(queued_jobs_wait_for_the_connection)
)
