// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What systemd fails to tell, and how it is found out all the same. First one way of losing after the other;
// then all of them at random: whatever was lost, late, overtaken or cut off, once systemd is well again and
// the check has gone round, what we know is what is. ARGOSY_SEED=N runs one seed, ARGOSY_SEEDS=N so many.

#include "loop.h"
#include "printed.h"
#include "tmpdir.h"

#include <inttypes.h>
#include <sys/vfs.h>

#include "cgroup-path.h"
#include "fake-systemd.h"
#include "log.h"
#include "str.h"
#include "systemd-manager.h"
#include "unit-state.h"
#include "watch-unit.h"

enum { PERIOD_US = 5 * 1000, ANSWER_US = 200 * 1000, TMPFS = 0x01021994 };

static FakeSystemd *fake;
static SystemdManager *manager;
static char *cgroups; // on a file system that does not use inode numbers again, or NULL
static bool closed;
static unsigned n_synced, n_disconnected, n_jobs, n_ended;
static SystemdJobResult last_result;

static void on_changed(const char *name, const UnitRuntime *now, void *userdata) {
}

static void on_unloaded(const char *name, void *userdata) {
}

static void on_synced(void *userdata) {
        n_synced++;
}

static void on_disconnected(const char *why, void *userdata) {
        n_disconnected++;
}

static void on_stopping(void *userdata) {
        fail_msg("nobody shuts down");
}

static const SystemdOps ops = {
        .unit_changed = on_changed,
        .unit_unloaded = on_unloaded,
        .synced = on_synced,
        .disconnected = on_disconnected,
        .stopping = on_stopping,
};

static void on_job(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                   void *userdata) {
        n_ended++;
        last_result = result;
}

static void on_closed(void *userdata) {
        closed = true;
}

static void open_manager(uint64_t period_us) {
        SystemdConfig config = {
                .loop = &test_loop,
                .open_socket = fake_systemd_open,
                .open_userdata = fake,
                .check_period_us = period_us,
                .check_answer_us = ANSWER_US,
                .cgroup_root = cgroups ?: "/nonexistent",
        };

        assert_int_equal(systemd_manager_new(&config, &ops, NULL, &manager), 0);
}

static void close_manager(void) {
        closed = false;
        unwatch_all_units(manager);
        systemd_manager_close(manager, on_closed, NULL);
        loop_until(closed);
        manager = NULL;
}

static char *make_cgroups(void) {
        char *path = strdup("/dev/shm/argosy-test-XXXXXX");
        struct statfs fs;

        if (mkdtemp(path) && statfs(path, &fs) == 0 && fs.f_type == TMPFS)
                return path;
        free(path);
        return NULL;
}

static void world_up(void) {
        fake = fake_systemd_new(&test_loop, NULL);
        n_synced = n_disconnected = n_jobs = n_ended = 0;
        cgroups = make_cgroups();
        if (cgroups)
                fake_systemd_cgroups(fake, cgroups);
}

static void world_down(void) {
        if (manager)
                close_manager();
        fake_systemd_free(fake);
        if (cgroups)
                assert_int_equal(tmpdir_drop((void **) &cgroups), 0);
        cgroups = NULL;
}

FIXTURE(set_up) {
        log_set_level(LOG_ERR);
        assert_int_equal(loop_setup(state), 0);
        world_up();
}

static int tear_down(void **state) {
        world_down();
        return loop_teardown(state);
}

static SystemdStats stats(void) {
        SystemdStats s;

        systemd_manager_stats(manager, &s);
        return s;
}

static void settle_down(void) {
        SystemdStats before, after;

        do {
                before = stats();
                for (int i = 0; i < 20; i++)
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                after = stats();
        } while (before.signals != after.signals || before.calls != after.calls);
}

static void rounds(unsigned n) {
        uint64_t until = stats().checks + n;

        loop_until(stats().checks >= until);
        settle_down();
}

static const UnitRuntime *seen(const char *name) {
        return watched_unit(manager, name);
}

static bool is_active(const char *name) {
        return seen(name)->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
}

// Up and watched.
static void add(const char *name, bool up) {
        fake_systemd_add(fake, name, FAKE_RUNS);
        if (up)
                fake_systemd_set(fake, name, "active", "running", NULL);
        assert_int_equal(watch_unit(manager, name), 0);
}

static void open_with(const char *up, const char *down, uint64_t period_us) {
        open_manager(period_us);
        loop_until(n_synced == 1);
        add(up, true);
        if (down)
                add(down, false);
        settle_down();
        assert_true(is_active(up));
}

// ---- numbers of messages

static void a_dropped_message_is_noticed_by_the_next_one(void **state) {
        open_with("a.service", "b.service", 0);
        fake_systemd_drop(fake, true);
        fake_systemd_set(fake, "a.service", "failed", "failed", "signal");
        fake_systemd_drop(fake, false);
        settle_down();
        assert_true(is_active("a.service"));
        fake_systemd_set(fake, "b.service", "active", "running", NULL);
        loop_until(n_synced == 2);
        assert_int_equal(seen("a.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_string_equal(seen("a.service")->result, "signal");
        assert_true(is_active("b.service"));
        assert_int_equal(stats().losses, 1);
        assert_int_equal(n_disconnected, 0);
        assert_int_equal(fake_systemd_calls(fake, "ListUnits"), 2);
}

// The reply to a call may be among what was dropped: nobody waits for it for ever.
static void a_dropped_reply_costs_a_new_connection(void **state) {
        open_with("a.service", "b.service", 0);
        fake_systemd_drop(fake, true);
        assert_int_equal(systemd_manager_job(manager, SYSTEMD_STOP, "a.service", on_job, NULL), 0);
        settle_down();
        loop_until(fake_systemd_calls(fake, "StopUnit") == 1);
        fake_systemd_drop(fake, false);
        fake_systemd_set(fake, "b.service", "active", "running", NULL);
        loop_until(n_ended == 1);
        assert_int_equal(n_disconnected, 1);
        assert_int_equal(last_result, SYSTEMD_JOB_LOST);
        assert_int_equal(seen("a.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
}

// A systemd whose numbers have holes without a loss is not asked for everything for ever.
static void numbers_that_lie_are_ignored(void **state) {
        open_with("a.service", "b.service", 0);
        for (int i = 0; i < 10; i++) {
                fake_systemd_drop(fake, true);
                fake_systemd_pin(fake, "other.service", i % 2 == 0);
                fake_systemd_drop(fake, false);
                fake_systemd_set(fake, "a.service", "active", i % 2 ? "running" : "exited", NULL);
                settle_down();
        }
        assert_int_equal(stats().losses, 3);
        assert_int_equal(fake_systemd_calls(fake, "ListUnits"), 4);
}

// ---- without a trace

static void lose(const char *name, const char *active, const char *sub, const char *result) {
        fake_systemd_lose_signals(fake, true);
        fake_systemd_set(fake, name, active, sub, result);
        fake_systemd_lose_signals(fake, false);
}

// What was found once is not found again. (The first round may still meet what is on its way.)
static void finds_no_more(void) {
        rounds(1);
        uint64_t before = stats().discrepancies;
        rounds(1);
        assert_int_equal(stats().discrepancies, before);
}

// With nothing to look at, the next look is half a period away.
static void units_that_come_later_are_looked_at_within_a_round_too(void **state) {
        enum { SECOND = 1000 * 1000, MANY = 27 * SYSTEMD_CHECK_CHUNK };

        open_manager(24 * SECOND); // so the first look would be 12 s away, and then is 0.9 s
        loop_until(n_synced == 1);
        uint64_t begin_us = uv_hrtime() / 1000;
        for (int i = 0; i < MANY; i++) {
                add(printed("u%i.service", i), true);
        }
        loop_until(stats().check_calls > 0);
        assert_true(uv_hrtime() / 1000 - begin_us < 10 * SECOND);
}

static void a_lost_failure_is_found_counted_and_told(void **state) {
        open_with("a.service", NULL, PERIOD_US);
        lose("a.service", "failed", "failed", "signal");
        loop_until(stats().discrepancies == 1);
        loop_until(n_synced == 2);
        assert_int_equal(seen("a.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_string_equal(seen("a.service")->result, "signal");
        finds_no_more();
}

// The question itself makes systemd load the unit and drop it again: that tells nothing about the loss.
static void a_lost_stop_is_counted_too(void **state) {
        open_with("a.service", NULL, PERIOD_US);
        lose("a.service", "inactive", "dead", NULL);
        loop_until(stats().discrepancies == 1);
        settle_down();
        assert_false(seen("a.service")->loaded);
        assert_int_equal(seen("a.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
}

static void a_late_signal_is_no_discrepancy(void **state) {
        open_with("a.service", NULL, 400 * 1000);
        fake_systemd_busy(fake, true);
        fake_systemd_set(fake, "a.service", "failed", "failed", "signal");
        loop_until(seen("a.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED); // by the check
        fake_systemd_busy(fake, false);
        rounds(2);
        assert_int_equal(stats().discrepancies, 0);
        assert_int_equal(n_synced, 1);
}

// Nor one that came in time, to a process that stood still and looks at its timers first.
static void a_signal_that_was_not_read_yet_is_no_discrepancy(void **state) {
        open_with("a.service", NULL, 400 * 1000);
        fake_systemd_busy(fake, true);
        fake_systemd_set(fake, "a.service", "failed", "failed", "signal");
        loop_until(seen("a.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED); // by the check
        fake_systemd_busy(fake, false);
        uv_sleep(500);
        rounds(2);
        assert_int_equal(stats().discrepancies, 0);
        assert_int_equal(n_synced, 1);
}

static void a_unit_that_was_believed_gone_is_found_by_its_control_group(void **state) {
        if (!cgroups)
                skip();
        open_with("a.service", "hidden.service", PERIOD_US);
        lose("hidden.service", "active", "running", NULL);
        loop_until(is_active("hidden.service"));
        loop_until(stats().discrepancies == 1);
        loop_until(seen("hidden.service")->invocation_id[0] > 0);
        finds_no_more();
}

static void one_that_failed_meanwhile_is_found_too(void **state) {
        open_with("a.service", "hidden.service", PERIOD_US);
        lose("hidden.service", "failed", "failed", "exit-code");
        loop_until(seen("hidden.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        loop_until(stats().discrepancies == 1);
}

static void one_without_a_control_group_is_found_too(void **state) {
        open_with("a.service", "hidden.timer", PERIOD_US);
        lose("hidden.timer", "active", "waiting", NULL);
        loop_until(is_active("hidden.timer"));
        loop_until(stats().discrepancies == 1);
}

static void nothing_is_loaded_to_look_for_it(void **state) {
        uint64_t signals;

        open_with("a.service", "hidden.timer", PERIOD_US);
        add("off.service", false);
        settle_down();
        signals = stats().signals;
        rounds(3);
        assert_int_equal(stats().signals, signals);
        assert_int_equal(stats().discrepancies, 0);
        assert_true(stats().check_names >= 3 && stats().check_calls >= 6);
}

// Down and up again between two looks: only the run is another one.
static void a_lost_restart_is_found_by_its_control_group(void **state) {
        if (!cgroups)
                skip();
        open_with("a.service", NULL, PERIOD_US);
        rounds(1);
        uint8_t before = seen("a.service")->invocation_id[0];
        fake_systemd_lose_signals(fake, true);
        fake_systemd_pin(fake, "a.service", true);
        fake_systemd_set(fake, "a.service", "inactive", "dead", NULL);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        fake_systemd_lose_signals(fake, false);
        loop_until(seen("a.service")->invocation_id[0] != before);
        loop_until(stats().discrepancies == 1);
}

static void a_job_whose_end_was_lost_ends(void **state) {
        open_with("a.service", "b.service", PERIOD_US);
        fake_systemd_behave(fake, "b.service", FAKE_HANGS);
        assert_int_equal(systemd_manager_job(manager, SYSTEMD_START, "b.service", on_job, NULL), 0);
        loop_until(seen("b.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
        rounds(2);
        assert_int_equal(n_ended, 0); // it is still running, and systemd says so
        fake_systemd_lose_signals(fake, true);
        fake_systemd_finish(fake, "b.service", "done");
        fake_systemd_lose_signals(fake, false);
        loop_until(n_ended == 1);
        assert_int_equal(last_result, SYSTEMD_JOB_LOST);
        assert_true(is_active("b.service"));
}

// ---- systemd has other things to do

static void nothing_is_lost_while_systemd_does_not_answer(void **state) {
        open_with("a.service", "b.service", 0);
        fake_systemd_stall(fake, true);
        assert_int_equal(systemd_manager_job(manager, SYSTEMD_START, "b.service", on_job, NULL), 0);
        for (int i = 0; i < 200; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_int_equal(n_ended, 0);
        assert_int_equal(n_disconnected, 0); // no time limit: it comes back, or the connection ends
        fake_systemd_set(fake, "a.service", "failed", "failed", "timeout");
        fake_systemd_stall(fake, false);
        loop_until(n_ended == 1);
        settle_down();
        assert_true(is_active("b.service"));
        assert_int_equal(seen("a.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
}

// What waits in systemd for a reader that slept too long comes ever more slowly, and replies stand behind
// it.
static void who_is_too_far_behind_begins_anew(void **state) {
        open_with("a.service", "b.service", 0);
        fake_systemd_mute(fake, true);
        while (n_disconnected == 0) {
                for (int i = 0; i < 10; i++)
                        fake_systemd_set(fake, "a.service", "active", i % 2 ? "running" : "exited", NULL);
                uv_run(&test_loop, UV_RUN_NOWAIT);
                assert_true(stats().signals < 10000000);
        }
        assert_true(stats().signals > 8000); // one to ask, as many again to despair
        fake_systemd_set(fake, "b.service", "active", "running", NULL);
        fake_systemd_mute(fake, false);
        loop_until(n_synced == 2);
        assert_true(is_active("b.service"));
        assert_int_equal(stats().losses, 1);
}

static void many_changes_while_we_slept_are_all_seen(void **state) {
        char name[32];

        open_manager(0);
        for (int i = 0; i < 200; i++) {
                snprintf(name, sizeof(name), "u%i.service", i);
                add(name, true);
        }
        loop_until(n_synced == 1);
        settle_down();
        for (int round = 0; round < 10; round++) // the loop does not run: 2000 transitions
                for (int i = 0; i < 200; i++) {
                        snprintf(name, sizeof(name), "u%i.service", i);
                        if (round % 2)
                                fake_systemd_set(fake, name, "active", "running", NULL);
                        else
                                fake_systemd_set(fake, name, "failed", "failed",
                                                 i % 3 ? "signal" : "exit-code");
                }
        settle_down();
        for (int i = 0; i < 200; i++) {
                snprintf(name, sizeof(name), "u%i.service", i);
                assert_true(is_active(name));
                assert_memory_equal(seen(name)->invocation_id, fake_systemd_state(fake, name).invocation,
                                    16);
        }
        assert_int_equal(n_synced, 1);
}

// ---- everything at random

static uint64_t random_state;

static unsigned any(unsigned of) {
        random_state ^= random_state >> 12;
        random_state ^= random_state << 25;
        random_state ^= random_state >> 27;
        return (unsigned) (random_state * UINT64_C(2685821657736338717) >> 33) % of;
}

enum { UNITS = 12, STEPS = 80 };
static const char *const names[UNITS] = {
        "a.service",   "b.service", "c.service", "d.service", "e.service", "f@1.service",
        "f@2.service", "g.timer",   "h.socket",  "i.target",  "j.service", "k.path",
};

static const char *any_name(void) {
        return names[any(UNITS)];
}

static void change_something(void) {
        static const char *const states[][3] = {
                {"active", "running", "success"},         {"inactive", "dead", "success"},
                {"failed", "failed", "exit-code"},        {"activating", "start", "success"},
                {"activating", "auto-restart", "signal"}, {"deactivating", "stop-sigterm", "success"},
                {"failed", "failed", "timeout"},          {"active", "exited", "success"},
        };
        unsigned s = any(sizeof(states) / sizeof(*states));
        const char *name = any_name();

        if (!fake_systemd_has_job(fake, name))
                fake_systemd_set(fake, name, states[s][0], states[s][1], states[s][2]);
}

static void ask_for_a_job(void) {
        SystemdJobKind kind = (SystemdJobKind) any(4);

        assert_int_equal(systemd_manager_job(manager, kind, any_name(), on_job, NULL), 0);
        n_jobs++;
}

static void switch_something(bool reorders) {
        switch (any(8)) {
        case 0:
                fake_systemd_lose_signals(fake, any(2));
                break;
        case 1:
                fake_systemd_drop(fake, any(2));
                break;
        case 2:
                fake_systemd_busy(fake, any(2));
                break;
        case 3:
                fake_systemd_only_jobs(fake, any(2));
                break;
        case 4:
                fake_systemd_job_first(fake, any(2));
                break;
        case 5:
                fake_systemd_end_before_reply(fake, any(2));
                break;
        case 6:
                fake_systemd_stall(fake, any(2));
                break;
        default:
                fake_systemd_fate(fake, any(3) ? random_state : 0,
                                  (FakeFate){any(40), reorders ? any(60) : 0});
                break;
        }
}

static void break_something(void) {
        switch (any(6)) {
        case 0:
                fake_systemd_cut(fake);
                break;
        case 1:
                fake_systemd_cut_after(fake, 1 + (int) any(40));
                break;
        case 2:
                fake_systemd_refuse(fake, any(2));
                break;
        case 3:
                fake_systemd_reload_begin(fake);
                if (any(2))
                        change_something();
                fake_systemd_reload_end(fake);
                break;
        case 4:
                fake_systemd_reexec(fake);
                break;
        default:
                unwatch_unit(manager, any_name());
                break;
        }
}

static void watch_all(void) {
        for (int i = 0; i < UNITS; i++)
                assert_int_equal(watch_unit(manager, names[i]), 0);
}

static void live(bool reorders) {
        for (int step = 0; step < STEPS; step++) {
                switch (any(10)) {
                case 0:
                case 1:
                case 2:
                        change_something();
                        break;
                case 3:
                        fake_systemd_pin(fake, any_name(), any(2));
                        break;
                case 4:
                case 5:
                        ask_for_a_job();
                        break;
                case 6:
                        fake_systemd_finish(fake, any_name(), any(3) ? "done" : "failed");
                        break;
                case 7:
                        if (any(4) == 0)
                                break_something();
                        else
                                watch_all();
                        break;
                default:
                        switch_something(reorders);
                        break;
                }
                for (unsigned turns = any(6); turns > 0; turns--)
                        uv_run(&test_loop, UV_RUN_NOWAIT);
        }
}

static void all_is_well_again(void) {
        fake_systemd_refuse(fake, false);
        fake_systemd_stall(fake, false);
        fake_systemd_lose_signals(fake, false);
        fake_systemd_drop(fake, false);
        fake_systemd_only_jobs(fake, false);
        fake_systemd_job_first(fake, false);
        fake_systemd_end_before_reply(fake, false);
        fake_systemd_fate(fake, 0, (FakeFate){});
        fake_systemd_busy(fake, false);
        fake_systemd_cut_after(fake, -1);
        watch_all();
        // A reply may have been dropped last of all: systemd says something, sooner or later.
        fake_systemd_pin(fake, "other.service", true);
        fake_systemd_pin(fake, "other.service", false);
        loop_until(systemd_manager_is_synced(manager));
}

static void finish_jobs(uint64_t seed) {
        for (int patience = 0; n_ended < n_jobs && patience < 500; patience++) {
                for (int i = 0; i < UNITS; i++)
                        if (fake_systemd_has_job(fake, names[i]))
                                fake_systemd_finish(fake, names[i], "done");
                rounds(1);
        }
        if (n_ended != n_jobs)
                fail_msg("seed %" PRIu64 ": %u of %u jobs ended", seed, n_ended, n_jobs);
}

static void compare(uint64_t seed, bool reorders) {
        for (int i = 0; i < UNITS; i++) {
                FakeState truth = fake_systemd_state(fake, names[i]);
                const UnitRuntime *rt = seen(names[i]);
                const char *active = active_state_to_string(rt->active);

                if (rt->loaded != truth.loaded || !streq(active, truth.loaded ? truth.active : "inactive") ||
                    (truth.loaded && !streq(rt->sub, truth.sub)))
                        fail_msg("seed %" PRIu64 ": %s is %s %s/%s, we say %s %s/%s", seed, names[i],
                                 truth.loaded ? "loaded" : "not loaded", truth.active, truth.sub,
                                 rt->loaded ? "loaded" : "not loaded", active, rt->sub);
                if (truth.loaded && streq(truth.active, "active") && cgroups && !reorders &&
                    cgroup_is_for(names[i]) && memcmp(rt->invocation_id, truth.invocation, 16) != 0)
                        fail_msg("seed %" PRIu64 ": %s has had a new run", seed, names[i]);
                if (!truth.loaded || !streq(truth.active, "failed") || reorders ||
                    str_has_suffix(names[i], ".target")) // these have no result
                        continue;
                if (!streq(rt->result, truth.result))
                        fail_msg("seed %" PRIu64 ": %s failed by %s, we say %s", seed, names[i],
                                 truth.result, rt->result);
        }
}

static void one_life(uint64_t seed, bool reorders) {
        random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
        world_up();
        for (int i = 0; i < UNITS; i++)
                fake_systemd_add(fake, names[i], (FakeBehaviour) any(5));
        open_manager(PERIOD_US);
        watch_all();
        live(reorders);
        all_is_well_again();
        finish_jobs(seed);
        rounds(3);
        compare(seed, reorders);
        world_down();
}

static unsigned number(const char *variable, unsigned fallback) {
        const char *text = getenv(variable);

        return text ? (unsigned) strtoul(text, NULL, 10) : fallback;
}

static void lives(bool reorders) {
        unsigned first = number("ARGOSY_SEED", 1),
                 n = number("ARGOSY_SEEDS", getenv("ARGOSY_SEED") ? 1 : 40);

        log_set_level(LOG_EMERG);
        world_down();
        for (unsigned seed = first; seed < first + n; seed++)
                one_life(seed, reorders);
        world_up();
}

static void whatever_is_lost_the_truth_is_found(void **state) {
        lives(false);
}

static void whatever_order_it_comes_in_the_truth_is_found(void **state) {
        lives(true);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

RUN_TESTS(
        T(a_dropped_message_is_noticed_by_the_next_one),
        T(a_dropped_reply_costs_a_new_connection),
        T(numbers_that_lie_are_ignored),
        T(units_that_come_later_are_looked_at_within_a_round_too),
        T(a_lost_failure_is_found_counted_and_told),
        T(a_lost_stop_is_counted_too),
        T(a_late_signal_is_no_discrepancy),
        T(a_signal_that_was_not_read_yet_is_no_discrepancy),
        T(a_unit_that_was_believed_gone_is_found_by_its_control_group),
        T(one_that_failed_meanwhile_is_found_too),
        T(one_without_a_control_group_is_found_too),
        T(nothing_is_loaded_to_look_for_it),
        T(a_lost_restart_is_found_by_its_control_group),
        T(a_job_whose_end_was_lost_ends),
        T(nothing_is_lost_while_systemd_does_not_answer),
        T(who_is_too_far_behind_begins_anew),
        T(many_changes_while_we_slept_are_all_seen),
        T(whatever_is_lost_the_truth_is_found),
        T(whatever_order_it_comes_in_the_truth_is_found)
)
