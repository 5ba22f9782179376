// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `argosyctl counters` shows: each row the field of its name, under names that programs know.

#include "agent.h"
#include "counters.h"
#include "daemon.h"
#include "leader.h"
#include "test.h"

void agent_systemd_stats(const Agent *a, SystemdStats *ret) {
        assert_non_null(a);
        *ret = (SystemdStats){.calls = 1, .checks = 2, .jobs = 3};
}

AgentStats agent_stats(const Agent *a) {
        assert_non_null(a);
        return (AgentStats){.reports = 4, .journals_held = 5, .searches = 6};
}

LeaderStats leader_stats(const Leader *l) {
        assert_non_null(l);
        return (LeaderStats){.beats_acknowledged = 7};
}

void store_stats(const Store *s, StoreStats *ret) {
        assert_non_null(s);
        *ret = (StoreStats){.last_index = 12};
        time_histogram_add(&ret->commits, 1000);
        time_histogram_add(&ret->snapshots, 2000);
        time_histogram_add(&ret->snapshots, 3000);
}

StoreFigures store_figures(const StoreStats *stats) {
        return (StoreFigures){.log_entries = stats->last_index, .log_pending = stats->last_index + 1};
}

HeapStats heap_stats(void) {
        return (HeapStats){.heap_allocated_bytes = 8, .heap_metadata_bytes = 9};
}

static Counter shown[COUNTERS_MAX];
static size_t n_shown;

static uint64_t shown_as(const char *name) {
        for (size_t i = 0; i < n_shown; i++)
                if (streq(shown[i].name, name))
                        return shown[i].value;
        fail_msg("no counter is called %s", name);
        return 0;
}

static void show(Agent *agent, Leader *leader, Store *store) {
        Daemon d = {.agent = agent, .leader = leader, .store = store, .stats = {.turn_max_us = 10, .slow_turns = 11}};

        n_shown = daemon_counters(&d, shown);
}

static void a_row_shows_the_field_of_its_name(void **state) {
        static char agent, leader, store;
        const struct {
                const char *name;
                uint64_t value;
        } expected[] = {
                {"calls", 1},
                {"checks", 2},
                {"jobs", 3},
                {"signals", 0},
                {"reports", 4},
                {"journals_read", 0},
                {"journals_held", 5},
                {"searches", 6},
                {"beats_acknowledged", 7},
                {"heap_allocated_bytes", 8},
                {"heap_resident_bytes", 0},
                {"heap_metadata_bytes", 9},
                {"turn_max_us", 10},
                {"turn_cpu_max_us", 0},
                {"slow_turns", 11},
                {"log_entries", 12},
                {"log_pending", 13},
        };

        show((Agent *) &agent, (Leader *) &leader, (Store *) &store);
        for (size_t i = 0; i < ELEMENTSOF(expected); i++)
                assert_int_equal(shown_as(expected[i].name), expected[i].value);
}

static void programs_find_the_names_that_they_know(void **state) {
        static const char *const names[] = {
                "calls", "signals", "connects", "losses", "resyncs", "resync_us", "checks", "check_calls",
                "check_names", "check_us", "check_wait_us", "discrepancies", "jobs", "turn_max_us",
                "turn_cpu_max_us", "slow_turns", "reports", "journals_read", "journals_held", "searches",
                "heap_allocated_bytes", "heap_resident_bytes", "heap_metadata_bytes", "beats_acknowledged",
                "log_entries", "log_entries_applied", "log_pending", "log_snapshot_failures",
        };

        show(NULL, NULL, NULL);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                (void) shown_as(names[i]);
        for (size_t i = 0; i < n_shown; i++)
                assert_true(*shown[i].help);
}

static void what_does_not_run_has_counted_nothing(void **state) {
        show(NULL, NULL, NULL);
        assert_int_equal(shown_as("calls"), 0);
        assert_int_equal(shown_as("searches"), 0);
        assert_int_equal(shown_as("beats_acknowledged"), 0);
        assert_int_equal(shown_as("slow_turns"), 11);
}

static void times_of_the_log_are_its_own(void **state) {
        static char store;
        Daemon d = {.store = (Store *) &store};
        CountedTimes times[COUNTED_TIMES];

        daemon_counted_times(&d, times);
        assert_string_equal(times[0].name, "log_commit");
        assert_int_equal(times[0].times.sum_us, 1000);
        assert_string_equal(times[1].name, "log_snapshot");
        assert_int_equal(times[1].times.sum_us, 5000);
        d.store = NULL;
        daemon_counted_times(&d, times);
        assert_int_equal(times[0].times.sum_us, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_row_shows_the_field_of_its_name),
                cmocka_unit_test(programs_find_the_names_that_they_know),
                cmocka_unit_test(what_does_not_run_has_counted_nothing),
                cmocka_unit_test(times_of_the_log_are_its_own),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
