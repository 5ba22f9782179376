// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a manager against a fake systemd finds out by looking: after a lost connection, after reloads, and
// when signals were lost.

#include "manager-words.h"
#include "printed.h"
#include "str.h"

#include <inttypes.h>

static void changes_missed_while_disconnected_are_found(void **state) {
        fake_systemd_add(fake, "up.service", FAKE_RUNS);
        fake_systemd_add(fake, "down.service", FAKE_RUNS);
        fake_systemd_set(fake, "down.service", "active", "running", NULL);
        open_and_watch("up.service");
        watch_unit(manager, "down.service");
        settle_down();
        forget_recorded();
        fake_systemd_cut(fake);
        fake_systemd_set(fake, "up.service", "active", "running", NULL);
        fake_systemd_set(fake, "down.service", "inactive", "dead", NULL);
        loop_until(n_synced == 2);
        expect("disconnected\n"
               "down.service: unknown inactive dead (not loaded)\n"
               "down.service: unloaded\n"
               "up.service: loaded active running\n" // later: its run was asked for first
               "synced\n");
}

static void a_restart_missed_while_disconnected_is_seen_by_its_run(void **state) {
        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        fake_systemd_set(fake, "a.service", "active", "running", NULL);
        open_and_settle("a.service");
        uint8_t before = watched_unit(manager, "a.service")->invocation_id[0];
        forget_recorded();
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
        open_and_watch("well.service");
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
        open_and_rest("a.service");
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
        open_and_rest("a.service");
        fake_systemd_reload_begin(fake);
        fake_systemd_pin(fake, "a.service", false);
        fake_systemd_reload_end(fake);
        loop_until(n_synced == 2);
        expect("a.service: unknown inactive dead (not loaded)\n"
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

// Nothing is asked because units come and go in memory: the answer would make them come and go again.
static void comings_and_goings_cause_no_calls(void **state) {
        SystemdStats before, after;

        fake_systemd_add(fake, "a.service", FAKE_RUNS);
        open_and_settle("a.service");
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
                _cleanup_free_ char *name = str_printf("u%d.service", i);

                fake_systemd_add(fake, name, FAKE_RUNS);
                if (i % 2)
                        fake_systemd_set(fake, name, "active", "running", NULL);
        }
        open_manager(100 * 1000);
        for (int i = 0; i < 250; i++) {
                watch_unit(manager, printed("u%d.service", i));
        }
        loop_until((systemd_manager_stats(manager, &stats), stats.checks) == 3);
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
                        snprintf(name, sizeof(name), "c%d-%d.service", n, i);
                        const char *truth = fake_systemd_active(fake, name);
                        assert_string_equal(active_state_to_string(active(name)), truth ?: "inactive");
                        assert_int_equal(watched_unit(manager, name)->loaded, truth != NULL);
                }
        }
        assert_true(n_disconnected > 20);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

RUN_TESTS(
        T(changes_missed_while_disconnected_are_found),
        T(a_restart_missed_while_disconnected_is_seen_by_its_run),
        T(a_failure_that_was_reset_while_disconnected_is_known_when_it_is_synced),
        T(a_reload_unloads_nothing),
        T(a_unit_that_a_reload_dropped_is_unloaded),
        T(reloads_are_shared),
        T(our_own_reload_changes_no_files),
        T(somebody_else_s_reload_beside_ours_is_noticed),
        T(systemd_says_that_somebody_had_it_change_files),
        T(comings_and_goings_cause_no_calls),
        T(lost_signals_are_found_and_counted),
        T(the_check_costs_calls_only_for_loaded_units),
        T(cut_at_every_message)
)
