// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The manager against a fake systemd. Each test is a story: what happens in systemd, then what is told, one
// line per callback.

#include "loop.h"

#include <inttypes.h>

#include "buf.h"
#include "fake-systemd.h"
#include "systemd-manager.h"
#include "unit-state.h"
#include "watch-unit.h"

static FakeSystemd *fake;
static SystemdManager *manager;
static Buf told;
static bool closed;
static char disconnected_why[128];
static unsigned n_jobs_done, n_synced, n_disconnected, n_loaded, n_files_changed;

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...) {
        char line[512];
        va_list ap;

        va_start(ap, format);
        vsnprintf(line, sizeof(line), format, ap);
        va_end(ap);
        assert_int_equal(buf_printf(&told, "%s\n", line), 0);
}

static void on_changed(const char *name, const UnitRuntime *now, void *userdata) {
        assert_ptr_equal(now, watched_unit(manager, name));
        tell("%s: %s %s %s%s%s%s", name, load_state_to_string(now->load),
             active_state_to_string(now->active), now->sub, now->loaded ? "" : " (not loaded)",
             *now->result && !streq(now->result, "success") ? " " : "",
             streq(now->result, "success") ? "" : now->result);
}

static void on_unloaded(const char *name, void *userdata) {
        tell("%s: unloaded", name);
}

static void on_reloaded(uint64_t since_us, void *userdata) {
        assert_true(since_us > 0);
        tell("reloaded");
}

static void on_synced(void *userdata) {
        n_synced++;
        assert_true(systemd_manager_is_synced(manager));
        tell("synced");
}

static void on_files_changed(void *userdata) {
        n_files_changed++;
        assert_true(systemd_manager_is_synced(manager));
}

static void on_disconnected(const char *why, void *userdata) {
        n_disconnected++;
        snprintf(disconnected_why, sizeof(disconnected_why), "%s", why);
        assert_false(systemd_manager_is_synced(manager));
        tell("disconnected");
}

static void on_resumed(void *userdata) {
        tell("resumed");
}

static void on_stopping(void *userdata) {
        tell("stopping");
}

static const SystemdOps ops = {
        .unit_changed = on_changed,
        .unit_unloaded = on_unloaded,
        .reloaded = on_reloaded,
        .synced = on_synced,
        .files_changed = on_files_changed,
        .disconnected = on_disconnected,
        .stopping = on_stopping,
        .resumed = on_resumed,
};

static const char *const kinds[] = {"start", "stop", "restart", "reset-failed"};
static const char *const results[] = {"done",    "canceled", "timeout", "failed", "dependency",
                                      "skipped", "refused",  "no unit", "lost"};

static void on_job(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                   void *userdata) {
        n_jobs_done++;
        tell("%s %s: %s%s%s", kinds[kind], name, results[result], *error ? ", " : "", error);
}

static void on_loaded(const char *name, Argosy__LoadState load, const char *error, void *userdata) {
        n_loaded++;
        tell("load %s: %s%s%s", name, load_state_to_string(load), *error ? ", " : "", error);
}

static void on_reload_done(int error, void *userdata) {
        tell("reload: %d", error);
}

static void on_closed(void *userdata) {
        closed = true;
}

// What was told since the last call.
static void expect(const char *text) {
        assert_int_equal(buf_append(&told, "", 1), 0);
        assert_string_equal((char *) told.data, text);
        told.len = 0;
}

static void forget_told(void) {
        told.len = 0;
}

// All of this once more with a manager that is not trusted.
#ifdef NOT_TRUSTED
enum { MESSAGE_MAX = SYSTEMD_MESSAGE_MAX };
#else
enum { MESSAGE_MAX = 0 };
#endif

static void open_manager(uint64_t check_period_us) {
        SystemdConfig config = {
                .loop = &test_loop,
                .open_socket = fake_systemd_open,
                .open_userdata = fake,
                .check_period_us = check_period_us,
                .message_max = MESSAGE_MAX,
        };

        assert_int_equal(systemd_manager_new(&config, &ops, NULL, &manager), 0);
}

static void open_synced(void) {
        open_manager(0);
        loop_until(n_synced == 1);
        forget_told();
}

static int set_up(void **state) {
        int r = loop_setup(state);

        fake = fake_systemd_new(&test_loop, NULL);
        manager = NULL;
        closed = false;
        n_jobs_done = n_synced = n_disconnected = n_loaded = n_files_changed = 0;
        return r;
}

static int tear_down(void **state) {
        if (manager) {
                unwatch_all_units(manager);
                systemd_manager_close(manager, on_closed, NULL);
                loop_until(closed);
        }
        fake_systemd_free(fake);
        buf_done(&told);
        return loop_teardown(state);
}

static void job(SystemdJobKind kind, const char *name) {
        assert_int_equal(systemd_manager_job(manager, kind, name, on_job, NULL), 0);
}

static void run_job(SystemdJobKind kind, const char *name) {
        unsigned before = n_jobs_done;

        job(kind, name);
        loop_until(n_jobs_done == before + 1);
}

static void settle_down(void) {
        SystemdStats before, after;

        do {
                systemd_manager_stats(manager, &before);
                for (int i = 0; i < 20; i++)
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                systemd_manager_stats(manager, &after);
        } while (before.signals != after.signals || before.calls != after.calls);
}

static Argosy__ActiveState active(const char *name) {
        return watched_unit(manager, name)->active;
}

static void the_first_sync_tells_of_all_that_is_watched(void **state) {
        fake_systemd_add(fake, "up.service", FAKE_RUNS);
        fake_systemd_add(fake, "bad.service", FAKE_RUNS);
        fake_systemd_add(fake, "other.service", FAKE_RUNS);
        fake_systemd_set(fake, "up.service", "active", "running", NULL);
        fake_systemd_set(fake, "bad.service", "failed", "failed", "exit-code");
        fake_systemd_set(fake, "other.service", "active", "running", NULL);
        open_manager(0);
        assert_int_equal(watch_unit(manager, "up.service"), 0);
        assert_int_equal(watch_unit(manager, "up.service"), 0);
        assert_int_equal(watch_unit(manager, "bad.service"), 0);
        assert_int_equal(watch_unit(manager, "off.service"), 0);
        assert_int_equal(active("up.service"), ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN);
        assert_null(watched_unit(manager, "other.service"));
        loop_until(n_synced == 1);
        assert_int_equal(active("up.service"), ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(active("bad.service"), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_int_equal(active("off.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_false(watched_unit(manager, "off.service")->loaded);
        assert_string_equal(watched_unit(manager, "bad.service")->result, "exit-code");
        assert_true(watched_unit(manager, "up.service")->invocation_id[0] > 0);
        assert_true(told.len > 7 && memcmp(told.data + told.len - 7, "synced\n", 7) == 0);
        assert_int_equal(fake_systemd_calls(fake, "ListUnitsByNames"), 0);
        assert_int_equal(fake_systemd_calls(fake, "ListUnits"), 1);
}

static void on_pin(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                   void *userdata) {
        *(int *) userdata = (int) result;
}

static bool is_pinned(const char *unit) {
        return systemd_manager_find(manager, unit)->pinned;
}

static void a_pin_is_a_job_and_the_listing_tells_of_it(void **state) {
        int result = -1;

        fake_systemd_add(fake, "job.service", FAKE_ENDS);
        fake_systemd_add(fake, "argosy-pin@job.service.target", FAKE_RUNS);
        fake_systemd_add(fake, "argosy-pin@.target", FAKE_RUNS); // pins nothing
        fake_systemd_set(fake, "argosy-pin@.target", "active", "active", NULL);
        open_synced();
        watch_unit(manager, "job.service");
        assert_int_equal(systemd_manager_pin(manager, 0, "job.service", true, on_pin, &result), 0);
        assert_false(is_pinned("job.service"));
        fake_systemd_set(fake, "job.service", "activating", "start", NULL); // stays in memory
        loop_until(result == SYSTEMD_JOB_DONE);
        assert_true(is_pinned("job.service"));
        fake_systemd_cut(fake);
        fake_systemd_set(fake, "argosy-pin@job.service.target", "inactive", "dead", NULL);
        loop_until(n_synced == 2);
        assert_false(is_pinned("job.service")); // somebody has stopped it
        fake_systemd_cut(fake);
        fake_systemd_set(fake, "argosy-pin@job.service.target", "active", "active", NULL);
        loop_until(n_synced == 3);
        assert_true(is_pinned("job.service"));
        result = -1;
        assert_int_equal(systemd_manager_pin(manager, 0, "job.service", false, on_pin, &result), 0);
        loop_until(result == SYSTEMD_JOB_DONE);
        assert_false(is_pinned("job.service"));
}

static void a_name_has_one_watcher(void **state) {
        SystemdUnit second = {};
        const SystemdUnit *first;

        open_synced();
        assert_int_equal(watch_unit(manager, "up.service"), 0);
        first = systemd_manager_find(manager, "up.service");
        assert_int_equal(systemd_manager_watch(manager, &second, "up.service"), -EEXIST);
        assert_null(second.name);
        assert_ptr_equal(systemd_manager_find(manager, "up.service"), first);
}

static void a_watched_name_is_asked_for_without_loading_it(void **state) {
        fake_systemd_add(fake, "up.service", FAKE_RUNS);
        fake_systemd_set(fake, "up.service", "active", "running", NULL);
        fake_systemd_add(fake, "off.service", FAKE_RUNS);
        open_synced();
        watch_unit(manager, "up.service");
        watch_unit(manager, "off.service");
        loop_until(active("up.service") && active("off.service"));
        settle_down();
        expect("off.service: stub inactive dead (not loaded)\n"
               "up.service: loaded active running\n");
        assert_int_equal(fake_systemd_calls(fake, "GetUnit"), 2);
        assert_int_equal(fake_systemd_calls(fake, "ListUnitsByNames"), 1);
        assert_int_equal(fake_systemd_calls(fake, "ListUnits"), 1);
}

static void a_start_ends_when_the_unit_is_up(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        expect("a.service: stub inactive dead (not loaded)\n");
        run_job(SYSTEMD_START, "a.service");
        expect("a.service: loaded active running\n"
               "start a.service: done\n");
        run_job(SYSTEMD_STOP, "a.service");
        expect("a.service: loaded inactive dead (not loaded)\n"
               "a.service: unloaded\n"
               "stop a.service: done\n");
}

static void a_failed_start_tells_the_state_first(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_FAILS);
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        forget_told();
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
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        forget_told();
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
        forget_told();
        job(SYSTEMD_RESET_FAILED, "a.service");
        loop_until(fake_systemd_calls(fake, "ResetFailedUnit") == 2);
        fake_systemd_set(fake, "a.service", "failed", "failed", "signal");
        loop_until(n_jobs_done == 2);
        settle_down();
        assert_int_equal(active("a.service"), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
}

static void a_oneshot_has_run_when_its_start_ends(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_ENDS);
        open_synced();
        watch_unit(manager, "a.service");
        run_job(SYSTEMD_START, "a.service");
        assert_int_equal(active("a.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_true(watched_unit(manager, "a.service")->invocation_id[0] > 0);
}

// JobRemoved may overtake the unit's change: nobody hears "done" before the change.
static void the_end_of_a_job_waits_for_the_change_of_its_unit(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        fake_systemd_job_first(fake, true);
        forget_told();
        run_job(SYSTEMD_START, "a.service");
        expect("a.service: loaded active running\n"
               "start a.service: done\n");
        run_job(SYSTEMD_RESTART, "a.service");
        expect("a.service: loaded active running\n"
               "restart a.service: done\n");
        run_job(SYSTEMD_STOP, "a.service");
        expect("a.service: loaded inactive dead (not loaded)\n"
               "a.service: unloaded\n"
               "stop a.service: done\n");
}

static void a_job_may_end_before_its_reply(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_synced();
        watch_unit(manager, "a.service");
        fake_systemd_end_before_reply(fake, true);
        run_job(SYSTEMD_START, "a.service");
        run_job(SYSTEMD_STOP, "a.service");
        assert_int_equal(active("a.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
}

// The unit's change was lost: it is asked for before the end is told.
static void a_job_whose_change_was_lost_asks(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_HANGS);
        open_synced();
        watch_unit(manager, "a.service");
        job(SYSTEMD_START, "a.service");
        loop_until(active("a.service") == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
        fake_systemd_job_first(fake, true);
        fake_systemd_cut_after(fake, -1);
        forget_told();
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
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        forget_told();
        fake_systemd_only_jobs(fake, true);
        run_job(SYSTEMD_START, "a.service");
        expect("a.service: loaded active running\n"
               "start a.service: done\n");
        assert_true(watched_unit(manager, "a.service")->invocation_id[0] > 0);
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

static void refusals_carry_systemds_words(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_REFUSES);
        open_synced();
        run_job(SYSTEMD_START, "a.service");
        expect("start a.service: refused, Operation refused, unit a.service may be requested by dependency "
               "only.\n");
}

static void a_job_that_another_replaces_is_canceled(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_HANGS);
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        forget_told();
        job(SYSTEMD_START, "a.service");
        loop_until(active("a.service") == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
        job(SYSTEMD_STOP, "a.service");
        loop_until(n_jobs_done == 1);
        fake_systemd_finish(fake, "a.service", "done");
        loop_until(n_jobs_done == 2);
        expect("a.service: loaded activating start\n"
               "a.service: loaded deactivating stop-sigterm\n"
               "start a.service: canceled\n"
               "a.service: loaded inactive dead (not loaded)\n"
               "a.service: unloaded\n"
               "stop a.service: done\n");
}

static void few_jobs_are_in_flight_and_slow_ones_hold_nobody_up(void **state) {
        open_synced();
        for (int i = 0; i < 100; i++) {
                char name[32];

                snprintf(name, sizeof(name), "%s%d.service", i < 20 ? "slow" : "fast", i);
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
                char name[32];

                snprintf(name, sizeof(name), "slow%d.service", i);
                fake_systemd_finish(fake, name, "done");
        }
        loop_until(n_jobs_done == 100);
}

static void the_first_change_of_a_unit_frees_its_slot(void **state) {
        enum { MANY = SYSTEMD_UNFINISHED_OF_ONE }; // 2.3 s, if each kept its slot
        uint64_t begin;

        open_synced();
        for (int i = 0; i < MANY; i++) {
                char name[32];

                snprintf(name, sizeof(name), "slow%d.service", i);
                fake_systemd_add(fake, name, FAKE_HANGS);
                watch_unit(manager, name);
                job(SYSTEMD_START, name);
        }
        begin = uv_hrtime();
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
                char name[32];

                snprintf(name, sizeof(name), "many%d.service", i);
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
        open_synced();
        for (int i = 0; i < SYSTEMD_JOBS_MAX; i++) {
                char name[32];

                snprintf(name, sizeof(name), "slow%d.service", i);
                fake_systemd_add(fake, name, FAKE_HANGS);
                job_of(1, SYSTEMD_START, name);
        }
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        loop_until(fake_systemd_calls(fake, "StartUnit") == SYSTEMD_JOBS_MAX);
        forget_told();
        job_of(1, SYSTEMD_START, "a.service");
        job_of(2, SYSTEMD_STOP, "a.service");
        loop_until(n_jobs_done == 2);
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
        open_synced();
        watch_unit(manager, "long.service");
        watch_unit(manager, "gone.service");
        job(SYSTEMD_START, "long.service");
        job(SYSTEMD_START, "gone.service");
        loop_until(active("long.service") == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING &&
                   active("gone.service") == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
        forget_told();
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

static void changes_missed_while_disconnected_are_found(void **state) {
        fake_systemd_add(fake, "up.service", FAKE_RUNS);
        fake_systemd_add(fake, "down.service", FAKE_RUNS);
        fake_systemd_set(fake, "down.service", "active", "running", NULL);
        open_synced();
        watch_unit(manager, "up.service");
        watch_unit(manager, "down.service");
        settle_down();
        forget_told();
        fake_systemd_cut(fake);
        fake_systemd_set(fake, "up.service", "active", "running", NULL);
        fake_systemd_set(fake, "down.service", "inactive", "dead", NULL);
        loop_until(n_synced == 2);
        expect("disconnected\n"
               "down.service: loaded inactive dead (not loaded)\n"
               "down.service: unloaded\n"
               "up.service: loaded active running\n" // later: its run was asked for first
               "synced\n");
}

static void a_restart_missed_while_disconnected_is_seen_by_its_run(void **state) {
        uint8_t before;

        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        before = watched_unit(manager, "a.service")->invocation_id[0];
        forget_told();
        fake_systemd_cut(fake);
        fake_systemd_pin(fake, "a.service", true);
        fake_systemd_set(fake, "a.service", "inactive", "dead", NULL);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        loop_until(n_synced == 2);
        loop_until(watched_unit(manager, "a.service")->invocation_id[0] != before);
        settle_down();
        expect("disconnected\n"
               "synced\n" // its row is as before: nobody waits for what it tells about its run
               "a.service: loaded active running\n");
}

static void a_failure_that_was_reset_while_disconnected_is_known_when_it_is_synced(void **state) {
        fake_systemd_add(fake, "well.service", FAKE_RUNS);
        fake_systemd_add(fake, "badly.service", FAKE_RUNS);
        fake_systemd_pin(fake, "well.service", true);
        fake_systemd_pin(fake, "badly.service", true);
        open_synced();
        watch_unit(manager, "well.service");
        watch_unit(manager, "badly.service");
        settle_down();
        fake_systemd_set(fake, "well.service", "activating", "start", NULL);
        fake_systemd_set(fake, "badly.service", "activating", "start", NULL);
        settle_down();
        fake_systemd_cut(fake);
        fake_systemd_set(fake, "well.service", "inactive", "dead", NULL);
        fake_systemd_set(fake, "badly.service", "failed", "failed", "exit-code");
        usleep(1000); // another time
        fake_systemd_set(fake, "badly.service", "inactive", "dead", NULL);
        loop_until(n_synced == 2);
        assert_false(watched_unit(manager, "well.service")->was_reset);
        assert_true(watched_unit(manager, "badly.service")->was_reset);
}

static void a_reload_unloads_nothing(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        forget_told();
        fake_systemd_reload_begin(fake);
        settle_down();
        expect("");
        fake_systemd_set(fake, "a.service", "failed", "failed", "signal");
        fake_systemd_reload_end(fake);
        loop_until(n_synced == 2);
        expect("a.service: loaded failed failed signal\n"
               "reloaded\n"
               "synced\n");
        assert_int_equal(fake_systemd_calls(fake, "ListUnits"), 2);
}

static void a_unit_that_a_reload_dropped_is_unloaded(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_pin(fake, "a.service", true);
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        forget_told();
        fake_systemd_reload_begin(fake);
        fake_systemd_pin(fake, "a.service", false);
        fake_systemd_reload_end(fake);
        loop_until(n_synced == 2);
        expect("a.service: loaded inactive dead (not loaded)\n"
               "a.service: unloaded\n"
               "reloaded\n"
               "synced\n");
}

static void reloads_are_shared(void **state) {
        open_synced();
        for (int i = 0; i < 3; i++)
                assert_int_equal(systemd_manager_reload(manager, on_reload_done, NULL), 0);
        loop_until(n_synced == 2);
        settle_down();
        assert_int_equal(fake_systemd_calls(fake, "Reload"), 1);
        expect("reloaded\nsynced\nreload: 0\nreload: 0\nreload: 0\n");
}

static void reload_by_somebody_else(void) {
        fake_systemd_reload_begin(fake);
        fake_systemd_reload_end(fake);
}

static void our_own_reload_changes_no_files(void **state) {
        open_synced();
        assert_int_equal(n_files_changed, 1); // before we were connected
        assert_int_equal(systemd_manager_reload(manager, on_reload_done, NULL), 0);
        loop_until(n_synced == 2);
        settle_down();
        assert_int_equal(n_files_changed, 1);
        reload_by_somebody_else();
        loop_until(n_synced == 3);
        settle_down();
        assert_int_equal(n_files_changed, 2);
}

// His is carried out while ours waits.
static void somebody_else_s_reload_beside_ours_is_noticed(void **state) {
        open_synced();
        fake_systemd_stall(fake, true);
        assert_int_equal(systemd_manager_reload(manager, on_reload_done, NULL), 0);
        settle_down();
        reload_by_somebody_else();
        fake_systemd_stall(fake, false);
        loop_until(fake_systemd_calls(fake, "Reload") == 1);
        settle_down();
        assert_int_equal(n_files_changed, 2);
}

static void systemd_says_that_somebody_had_it_change_files(void **state) {
        open_synced();
        fake_systemd_files_changed(fake);
        loop_until(n_files_changed == 2);
        // Together with the reload that follows it.
        fake_systemd_files_changed(fake);
        fake_systemd_reload_begin(fake);
        settle_down();
        assert_int_equal(n_files_changed, 2);
        fake_systemd_reload_end(fake);
        loop_until(n_files_changed == 3);
        // Nobody can tell what was said meanwhile.
        fake_systemd_cut(fake);
        loop_until(n_files_changed == 4);
        assert_int_equal(n_disconnected, 1);
}

static void loading_tells_what_is_wrong(void **state) {
        static const char *const names[] = {"good.service", "bad.service", "none.service"};

        fake_systemd_add(fake, "good.service", FAKE_RUNS);
        fake_systemd_add(fake, "bad.service", FAKE_BAD_SETTING);
        open_synced();
        watch_unit(manager, "bad.service");
        settle_down();
        forget_told();
        assert_int_equal(systemd_manager_load(manager, names, 3, on_loaded, NULL), 0);
        loop_until(n_loaded == 3);
        settle_down();
        expect("bad.service: bad-setting inactive dead (not loaded)\n"
               "bad.service: unloaded\n"
               "load good.service: loaded\n"
               "bad.service: bad-setting inactive dead (not loaded)\n" // asking for the reason loads it once
                                                                       // more
               "bad.service: unloaded\n"
               "load bad.service: bad-setting, Unit has a bad unit file setting.\n"
               "load none.service: not-found, Unit none.service not found.\n");
}

static void loads_come_in_chunks_and_survive_a_lost_connection(void **state) {
        char names[250][32];
        const char *list[250];

        open_synced();
        for (int i = 0; i < 250; i++) {
                snprintf(names[i], sizeof(names[i]), "u%d.service", i);
                list[i] = names[i];
                fake_systemd_add(fake, names[i], FAKE_RUNS);
        }
        assert_int_equal(systemd_manager_load(manager, list, 250, on_loaded, NULL), 0);
        loop_until(fake_systemd_calls(fake, "ListUnitsByNames") == 2);
        fake_systemd_cut(fake);
        loop_until(n_loaded == 250);
        assert_int_equal(n_synced, 2);
        assert_in_range(fake_systemd_calls(fake, "ListUnitsByNames"), 3, 5);
}

static void collection_by_others_is_told(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_pin(fake, "a.service", true);
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        forget_told();
        fake_systemd_pin(fake, "a.service", false);
        settle_down();
        expect("a.service: loaded inactive dead (not loaded)\n"
               "a.service: unloaded\n");
}

// Nothing is asked because units come and go in memory: the answer would make them come and go again.
static void comings_and_goings_cause_no_calls(void **state) {
        SystemdStats before, after;

        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_synced();
        watch_unit(manager, "a.service");
        settle_down();
        systemd_manager_stats(manager, &before);
        for (int i = 0; i < 10; i++) {
                fake_systemd_pin(fake, "a.service", true);
                fake_systemd_pin(fake, "a.service", false);
                settle_down();
        }
        systemd_manager_stats(manager, &after);
        assert_int_equal(after.calls, before.calls);
        assert_int_equal(after.signals, before.signals + 20);
}

static void lost_signals_are_found_and_counted(void **state) {
        SystemdStats stats;

        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_add(fake, "hidden.service", FAKE_RUNS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        open_manager(200 * 1000);
        watch_unit(manager, "a.service");
        watch_unit(manager, "hidden.service");
        loop_until(n_synced == 1);
        fake_systemd_lose_signals(fake, true);
        fake_systemd_set(fake, "a.service", "failed", "failed", "signal");
        fake_systemd_set(fake, "hidden.service", "active", "running",
                         NULL); // believed not loaded: the check does not ask for it
        fake_systemd_lose_signals(fake, false);
        loop_until(active("hidden.service") == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(active("a.service"), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_string_equal(watched_unit(manager, "a.service")->result, "signal");
        loop_until(n_synced == 2);
        systemd_manager_stats(manager, &stats);
        assert_int_equal(stats.discrepancies, 1);
}

static void the_check_costs_calls_only_for_loaded_units(void **state) {
        SystemdStats stats;

        for (int i = 0; i < 250; i++) {
                char name[32];

                snprintf(name, sizeof(name), "u%d.service", i);
                fake_systemd_add(fake, name, FAKE_RUNS);
                if (i % 2)
                        fake_systemd_set(fake, name, "active", "running", NULL);
        }
        open_manager(100 * 1000);
        for (int i = 0; i < 250; i++) {
                char name[32];

                snprintf(name, sizeof(name), "u%d.service", i);
                watch_unit(manager, name);
        }
        loop_until((systemd_manager_stats(manager, &stats), stats.check_rounds) == 3);
        assert_int_equal(fake_systemd_calls(fake, "ListUnitsByNames"),
                         4); // 125 loaded: two chunks a round, from the second on
        assert_int_equal(stats.discrepancies, 0);
}

// Whatever was on its way when the connection broke: afterwards everything is true and every job has ended
// once.
static void cut_at_every_message(void **state) {
        for (int n = 1; n < 60; n++) {
                char name[32];
                unsigned jobs = n_jobs_done, disconnected = n_disconnected;

                if (!manager)
                        open_synced();
                for (int i = 0; i < 4; i++) {
                        snprintf(name, sizeof(name), "c%d-%d.service", n, i);
                        fake_systemd_add(fake, name, i % 2 ? FAKE_RUNS : FAKE_ENDS);
                        watch_unit(manager, name);
                        job(SYSTEMD_START, name);
                }
                fake_systemd_cut_after(fake, n);
                loop_until(n_jobs_done == jobs + 4);
                fake_systemd_cut_after(fake, -1);
                settle_down();
                loop_until(systemd_manager_is_synced(manager));
                settle_down();
                assert_int_equal(n_jobs_done, jobs + 4);
                assert_in_range(n_disconnected - disconnected, 0, 1);
                for (int i = 0; i < 4; i++) {
                        const char *truth;

                        snprintf(name, sizeof(name), "c%d-%d.service", n, i);
                        truth = fake_systemd_active(fake, name);
                        assert_string_equal(active_state_to_string(active(name)), truth ?: "inactive");
                        assert_int_equal(watched_unit(manager, name)->loaded, truth != NULL);
                }
        }
        assert_true(n_disconnected > 20);
}

static void shutdown_is_noticed_once(void **state) {
        open_synced();
        fake_systemd_shutdown(fake);
        fake_systemd_shutdown(fake);
        loop_until(systemd_manager_is_stopping(manager));
        settle_down();
        expect("stopping\n");
}

static void a_shutdown_may_be_cancelled_and_come_again(void **state) {
        open_synced();
        fake_systemd_shutdown(fake);
        loop_until(systemd_manager_is_stopping(manager));
        fake_systemd_cancel_shutdown(fake);
        loop_until(!systemd_manager_is_stopping(manager));
        fake_systemd_shutdown(fake);
        loop_until(systemd_manager_is_stopping(manager));
        settle_down();
        expect("stopping\nresumed\nstopping\n");
}

static void a_manager_that_goes_down_at_once_was_stopping(void **state) {
        open_synced();
        fake_systemd_shutdown(fake);
        fake_systemd_refuse(fake, true);
        fake_systemd_stall(fake, true);
        settle_down();
        fake_systemd_cut(fake);
        loop_until(systemd_manager_is_stopping(manager));
        expect("disconnected\nstopping\n");
}

static void shutdown_under_way_is_noticed_at_connect(void **state) {
        fake_systemd_shutdown(fake);
        open_manager(0);
        loop_until(systemd_manager_is_stopping(manager));
}

static bool inspected;
static void on_inspected(int error, Argosy__Response__Property *const *properties, size_t n,
                         void *userdata) {
        static const char *const want[][2] = {
                {"Id", "a.service"},          {"ActiveState", "active"},
                {"MainPID", "4711"},          {"MemoryCurrent", "[not set]"},
                {"ActiveEnterTimestamp", ""}, {"TimeoutStartUSec", "1min 30s"},
                {"NeedDaemonReload", "no"},   {"After", "a.target b.target"},
                {"LimitNOFILE", "infinity"},
        };

        inspected = true;
        assert_int_equal(error, 0);
        for (size_t i = 0; i < ELEMENTSOF(want); i++) {
                const char *value = NULL;

                for (size_t k = 0; k < n; k++)
                        if (streq(properties[k]->key, want[i][0]))
                                value = properties[k]->value;
                assert_non_null(value);
                assert_string_equal(value, want[i][1]);
        }
        for (size_t k = 0; k < n; k++) {
                assert_string_not_equal(properties[k]->key, "LoadError");
                if (streq(properties[k]->key, "InvocationID"))
                        assert_int_equal(strlen(properties[k]->value), 32);
        }
}

static void inspects_as_systemctl_show(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        open_synced();
        inspected = false;
        assert_int_equal(systemd_manager_inspect(manager, "a.service", on_inspected, NULL), 0);
        loop_until(inspected);
}

static int group_error;
static char *group;
static void on_group(int error, const char *control_group, void *userdata) {
        group_error = error;
        group = control_group ? strdup(control_group) : NULL;
        *(bool *) userdata = true;
}

static void says_where_a_control_group_is(void **state) {
        bool answered = false;

        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        open_synced();
        assert_int_equal(systemd_manager_pid(manager), getpid()); // the fake is in this process
        assert_int_equal(systemd_manager_control_group(manager, "a.service", on_group, &answered), 0);
        loop_until(answered);
        assert_int_equal(group_error, 0);
        assert_string_equal(group, "/system.slice/it");
        free(TAKE_PTR(group));
        answered = false;
        assert_int_equal(systemd_manager_control_group(manager, "a.target", on_group, &answered), 0);
        loop_until(answered);
        assert_int_equal(group_error, -EOPNOTSUPP);
        assert_null(group);
        answered = false;
        assert_int_equal(systemd_manager_control_group(manager, "a.service", on_group, &answered), 0);
        unwatch_all_units(manager);
        systemd_manager_close(manager, on_closed, NULL);
        loop_until(closed);
        manager = NULL;
        assert_true(answered);
        assert_int_equal(group_error, -ECANCELED);
        assert_null(group);
}

static int inspect_error;
static void on_inspect_error(int error, Argosy__Response__Property *const *properties, size_t n,
                             void *userdata) {
        inspect_error = error;
}

static void closing_ends_everything_once(void **state) {
        static const char *const name = "a.service";

        fake_systemd_add(fake, "a.service", FAKE_HANGS);
        fake_systemd_add(fake, "b.service", FAKE_HANGS);
        open_synced();
        job(SYSTEMD_START, "a.service");
        loop_until(fake_systemd_has_job(fake, "a.service"));
        settle_down();
        job(SYSTEMD_START, "b.service");
        assert_int_equal(systemd_manager_load(manager, &name, 1, on_loaded, NULL), 0);
        assert_int_equal(systemd_manager_reload(manager, on_reload_done, NULL), 0);
        assert_int_equal(systemd_manager_inspect(manager, name, on_inspect_error, NULL), 0);
        unwatch_all_units(manager);
        systemd_manager_close(manager, on_closed, NULL);
        assert_int_equal(systemd_manager_job(manager, SYSTEMD_START, "c.service", on_job, NULL), -ESHUTDOWN);
        expect("");
        loop_until(closed);
        manager = NULL;
        expect("start a.service: lost, the connection to systemd was closed\n"
               "start b.service: lost, the connection to systemd was closed\n"
               "load a.service: unknown, the connection to systemd was closed\n"
               "reload: -125\n");
        assert_int_equal(inspect_error, -ECANCELED);
}

static void close_in_synced(void *userdata) {
        unwatch_all_units(manager);
        systemd_manager_close(manager, on_closed, NULL);
}

static void may_be_closed_from_a_callback(void **state) {
        SystemdOps closing = ops;
        SystemdConfig config = {.loop = &test_loop, .open_socket = fake_systemd_open, .open_userdata = fake};

        closing.synced = close_in_synced;
        assert_int_equal(systemd_manager_new(&config, &closing, NULL, &manager), 0);
        loop_until(closed);
        manager = NULL;
}

static void a_message_has_a_limit(void **state) {
        enum { LIMIT = 1024 * 1024, LESS = LIMIT - 1024 };
        SystemdConfig config = {.loop = &test_loop,
                                .open_socket = fake_systemd_open,
                                .open_userdata = fake,
                                .message_max = LIMIT};

        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        assert_int_equal(systemd_manager_new(&config, &ops, NULL, &manager), 0);
        watch_unit(manager, "a.service");
        loop_until(n_synced == 1);
        forget_told();
        fake_systemd_say_long(fake, LESS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        loop_until(systemd_manager_find(manager, "a.service")->runtime.active ==
                   ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(n_disconnected, 0);
        fake_systemd_say_long(fake, LIMIT);
        loop_until(n_disconnected == 1);
        assert_string_equal(disconnected_why, strerror(EMSGSIZE));
        loop_until(n_synced == 2); // it is tried again
}

static void unwatch_in_changed(const char *name, const UnitRuntime *now, void *userdata) {
        unwatch_unit(manager, "a.service");
        unwatch_unit(manager, "b.service");
        tell("one of them");
}

static void units_may_be_unwatched_from_a_callback(void **state) {
        SystemdOps unwatching = ops;
        SystemdConfig config = {.loop = &test_loop, .open_socket = fake_systemd_open, .open_userdata = fake};

        unwatching.unit_changed = unwatch_in_changed;
        assert_int_equal(systemd_manager_new(&config, &unwatching, NULL, &manager), 0);
        watch_unit(manager, "a.service");
        watch_unit(manager, "b.service");
        loop_until(n_synced == 1);
        expect("one of them\nsynced\n");
}

// 3000 units: the reply is taken in over several turns, what happens meanwhile is not lost.
static void a_long_listing_does_not_hide_changes(void **state) {
        char name[32];

        for (int i = 0; i < 3000; i++) {
                snprintf(name, sizeof(name), "u%d.service", i);
                fake_systemd_add(fake, name, FAKE_RUNS);
                fake_systemd_set(fake, name, "active", "running", NULL);
        }
        open_manager(0);
        for (int i = 0; i < 3000; i += 3) {
                snprintf(name, sizeof(name), "u%d.service", i);
                watch_unit(manager, name);
        }
        loop_until(fake_systemd_calls(fake, "ListUnits") == 1);
        watch_unit(manager, "u1.service");
        fake_systemd_set(fake, "u0.service", "failed", "failed", "signal");
        fake_systemd_set(fake, "u2997.service", "inactive", "dead", NULL);
        loop_until(n_synced == 1);
        settle_down();
        assert_int_equal(active("u0.service"), ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_int_equal(active("u2997.service"), ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_int_equal(active("u3.service"), ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(active("u1.service"), ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_true(watched_unit(manager, "u3.service")->invocation_id[0] > 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
                T(the_first_sync_tells_of_all_that_is_watched),
                T(a_name_has_one_watcher),
                T(a_pin_is_a_job_and_the_listing_tells_of_it),
                T(a_watched_name_is_asked_for_without_loading_it),
                T(a_start_ends_when_the_unit_is_up),
                T(a_failed_start_tells_the_state_first),
                T(after_a_reset_the_unit_is_not_failed),
                T(a_oneshot_has_run_when_its_start_ends),
                T(the_end_of_a_job_waits_for_the_change_of_its_unit),
                T(a_job_may_end_before_its_reply),
                T(a_job_whose_change_was_lost_asks),
                T(a_job_whose_unit_never_showed_asks),
                T(what_is_not_loaded_is_stopped_already),
                T(refusals_carry_systemds_words),
                T(a_job_that_another_replaces_is_canceled),
                T(few_jobs_are_in_flight_and_slow_ones_hold_nobody_up),
                T(the_first_change_of_a_unit_frees_its_slot),
                T(unfinished_jobs_have_a_limit),
                T(a_request_of_many_delays_another_by_a_few_jobs),
                T(a_stop_cancels_a_start_that_is_still_queued),
                T(jobs_survive_a_lost_connection),
                T(queued_jobs_wait_for_the_connection),
                T(changes_missed_while_disconnected_are_found),
                T(a_restart_missed_while_disconnected_is_seen_by_its_run),
                T(a_failure_that_was_reset_while_disconnected_is_known_when_it_is_synced),
                T(a_reload_unloads_nothing),
                T(a_unit_that_a_reload_dropped_is_unloaded),
                T(reloads_are_shared),
                T(our_own_reload_changes_no_files),
                T(somebody_else_s_reload_beside_ours_is_noticed),
                T(systemd_says_that_somebody_had_it_change_files),
                T(loading_tells_what_is_wrong),
                T(loads_come_in_chunks_and_survive_a_lost_connection),
                T(collection_by_others_is_told),
                T(comings_and_goings_cause_no_calls),
                T(lost_signals_are_found_and_counted),
                T(the_check_costs_calls_only_for_loaded_units),
                T(cut_at_every_message),
                T(shutdown_is_noticed_once),
                T(a_shutdown_may_be_cancelled_and_come_again),
                T(a_manager_that_goes_down_at_once_was_stopping),
                T(shutdown_under_way_is_noticed_at_connect),
                T(inspects_as_systemctl_show),
                T(says_where_a_control_group_is),
                T(closing_ends_everything_once),
                T(a_message_has_a_limit),
                T(may_be_closed_from_a_callback),
                T(units_may_be_unwatched_from_a_callback),
                T(a_long_listing_does_not_hide_changes),
#undef T
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
