// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What `argosyctl counters` shows: each row the field of its name, under names that programs know.

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "buf.h"
#include "counters.h"
#include "daemon.h"
#include "fileio.h"
#include "http-api.h"
#include "leader.h"
#include "mesh.h"
#include "router.h"
#include "test.h"

void agent_systemd_stats(const Agent *a, SystemdStats *ret) {
        assert_non_null(a);
        *ret = (SystemdStats){.calls = 1, .checks = 2, .jobs = 3};
}

AgentStats agent_stats(const Agent *a) {
        assert_non_null(a);
        return (AgentStats){.reports = 4, .journals_held = 5, .searches = 6};
}

TimeHistogram agent_beat_times(const Agent *a) {
        TimeHistogram t = {};

        assert_non_null(a);
        time_histogram_add(&t, 4000);
        return t;
}

MeshStats mesh_stats(const Mesh *m) {
        assert_non_null(m);
        return (MeshStats){.mesh_links = 16, .mesh_queued_bytes = 17};
}

HttpStats http_api_stats(HttpApi *a) {
        assert_non_null(a);
        return (HttpStats){.http_requests = 18, .http_held_bytes = 20, .http_state_bytes = 21};
}

TimeHistogram http_api_loop_lag(const HttpApi *a) {
        TimeHistogram t = {};

        assert_non_null(a);
        time_histogram_add(&t, 6000);
        return t;
}

RouterStats router_stats(const Router *r) {
        assert_non_null(r);
        return (RouterStats){.host_requests_open = 22};
}

StateFigures cluster_state_figures(const ClusterState *s) {
        assert_non_null(s);
        return (StateFigures){.state_former_files_bytes = 19};
}

LeaderStats leader_stats(const Leader *l) {
        assert_non_null(l);
        return (LeaderStats){.beats_acknowledged = 7};
}

TimeHistogram leader_placement_times(const Leader *l) {
        TimeHistogram t = {};

        assert_non_null(l);
        time_histogram_add(&t, 700);
        return t;
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

const CounterFamily leader_families[LEADER_FAMILY_END] = {{"jobs_ended", "jobs", false}};

void leader_figures(Leader *l, CounterList *to) {
        assert_non_null(l);
        counter_list_add(to, (Counter){leader_families[0], 14, {{"verb", "start"}, {"state", "done"}}});
        counter_list_add(to, (Counter){leader_families[0], 15, {{"verb", "start"}, {"state", "failed"}}});
}

static CounterList shown;

static uint64_t shown_as(const char *name) {
        for (size_t i = 0; i < shown.n; i++)
                if (streq(shown.rows[i].of.name, name))
                        return shown.rows[i].value;
        fail_msg("no counter is called %s", name);
        return 0;
}

static void show(Agent *agent, Leader *leader, Store *store) {
        static char mesh, http, state, router;
        Daemon d = {.agent = agent,
                    .leader = leader,
                    .store = store,
                    .mesh = (Mesh *) &mesh,
                    .http = (HttpApi *) &http,
                    .state = (ClusterState *) &state,
                    .router = (Router *) &router,
                    .stats = {.turn_max_us = 10, .slow_turns = 11}};

        counter_list_done(&shown);
        daemon_counters(&d, &shown);
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
                {"mesh_links", 16},
                {"mesh_queued_bytes", 17},
                {"http_requests", 18},
                {"http_requests_open", 0},
                {"http_held_bytes", 20},
                {"http_state_bytes", 21},
                {"host_requests_open", 22},
                {"state_former_files_bytes", 19},
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
        for (size_t i = 0; i < shown.n; i++)
                assert_true(*shown.rows[i].of.help);
}

static void what_does_not_run_has_counted_nothing(void **state) {
        show(NULL, NULL, NULL);
        assert_int_equal(shown_as("calls"), 0);
        assert_int_equal(shown_as("searches"), 0);
        assert_int_equal(shown_as("beats_acknowledged"), 0);
        assert_int_equal(shown_as("slow_turns"), 11);
}

static void times_of_the_log_are_its_own(void **state) {
        static char store, agent, http, leader;
        Daemon d = {.store = (Store *) &store,
                    .agent = (Agent *) &agent,
                    .http = (HttpApi *) &http,
                    .leader = (Leader *) &leader};
        CountedTimes times[COUNTED_TIMES];

        daemon_counted_times(&d, times);
        assert_string_equal(times[0].name, "log_commit");
        assert_int_equal(times[0].times.sum_us, 1000);
        assert_string_equal(times[1].name, "log_snapshot");
        assert_int_equal(times[1].times.sum_us, 5000);
        assert_string_equal(times[2].name, "beat");
        assert_int_equal(times[2].times.sum_us, 4000);
        assert_string_equal(times[3].name, "loop_lag");
        assert_int_equal(times[3].times.sum_us, 6000);
        assert_string_equal(times[4].name, "placement");
        assert_int_equal(times[4].times.sum_us, 700);
        d.store = NULL;
        daemon_counted_times(&d, times);
        assert_int_equal(times[0].times.sum_us, 0);
}

static uint64_t shown_with(const char *name, const char *first, const char *second) {
        for (size_t i = 0; i < shown.n; i++)
                if (streq(shown.rows[i].of.name, name) && streq(shown.rows[i].labels[0].value, first) &&
                    streq(shown.rows[i].labels[1].value, second))
                        return shown.rows[i].value;
        fail_msg("no counter is called %s{%s,%s}", name, first, second);
        return 0;
}

static void what_a_leader_counts_by_verb_is_shown(void **state) {
        static char leader;

        show(NULL, (Leader *) &leader, NULL);
        assert_int_equal(shown_with("jobs_ended", "start", "done"), 14);
        assert_int_equal(shown_with("jobs_ended", "start", "failed"), 15);
}

// ----------------------------------------------------------------------------------------------- the manual

static void write_entry(Buf *to, const char *name, const char *unit, const char *type, const char *help) {
        assert_int_equal(buf_printf(to, "*argosy\\_"), 0);
        for (const char *s = name; *s; s++)
                assert_int_equal(*s == '_' ? buf_printf(to, "\\_") : buf_append(to, s, 1), 0);
        assert_int_equal(buf_printf(to, "%s* (%s)\n\t%s\n\n", unit, type, help), 0);
}

// What it has to say and does not goes into `missing`.
static void look_for(const char *manual, Buf *missing, const char *name, const char *unit, const char *type,
                     const char *help) {
        _cleanup_buf_ Buf entry = {};

        write_entry(&entry, name, unit, type, help);
        assert_int_equal(buf_append(&entry, "", 1), 0);
        if (!strstr(manual, (const char *) entry.data))
                assert_int_equal(buf_append(missing, entry.data, entry.len - 1), 0);
}

static void the_manual_has_every_figure_and_no_other(void **state) {
        const CounterFamily families[] = {
#define ROW(name, help) {#name, help, false},
#define ROW_GAUGE(name, help) {#name, help, true},
                SYSTEMD_COUNTERS(ROW, ROW_GAUGE) DAEMON_COUNTERS(ROW, ROW_GAUGE) AGENT_COUNTERS(
                        ROW, ROW_GAUGE) MESH_COUNTERS(ROW, ROW_GAUGE) HTTP_COUNTERS(ROW, ROW_GAUGE)
                        ROUTER_COUNTERS(ROW, ROW_GAUGE) STATE_COUNTERS(ROW, ROW_GAUGE)
                                HEAP_COUNTERS(ROW, ROW_GAUGE) STORE_COUNTERS(ROW, ROW_GAUGE)
                                        LEADER_COUNTERS(ROW, ROW_GAUGE) LEADER_FAMILIES(ROW, ROW_GAUGE)
#undef ROW
#undef ROW_GAUGE
        };
        _cleanup_buf_ Buf manual = {}, missing = {};
        CountedTimes times[COUNTED_TIMES];
        Daemon d = {};
        size_t n = 0;

        assert_int_equal(file_read(AT_FDCWD, MANUAL, 1024 * 1024, &manual), 0);
        assert_int_equal(buf_append(&manual, "", 1), 0);
        for (size_t i = 0; i < ELEMENTSOF(families); i++)
                look_for((const char *) manual.data, &missing, families[i].name,
                         families[i].gauge ? "" : "\\_total", families[i].gauge ? "gauge" : "counter",
                         families[i].help);
        for (size_t i = 0; i < ELEMENTSOF(families); i++)
                for (size_t k = 0; k < i; k++)
                        // of two nobody could say which is which
                        assert_string_not_equal(families[i].name, families[k].name);
        daemon_counted_times(&d, times);
        for (size_t i = 0; i < COUNTED_TIMES; i++)
                look_for((const char *) manual.data, &missing, times[i].name, "\\_seconds", "histogram",
                         times[i].help);
        if (missing.len > 0) { // too long for a message of cmocka
                fprintf(stderr, "argosy-api.7.scd has to say:\n%.*s", (int) missing.len,
                        (const char *) missing.data);
                fail();
        }
        for (const char *s = (const char *) manual.data; (s = strstr(s, "\n*argosy\\_")); s++)
                n++;
        assert_int_equal(n, ELEMENTSOF(families) + COUNTED_TIMES + 1); // the last: turns of the loop
}

RUN_TESTS(
        cmocka_unit_test(a_row_shows_the_field_of_its_name),
        cmocka_unit_test(programs_find_the_names_that_they_know),
        cmocka_unit_test(what_does_not_run_has_counted_nothing),
        cmocka_unit_test(times_of_the_log_are_its_own),
        cmocka_unit_test(what_a_leader_counts_by_verb_is_shown),
        cmocka_unit_test(the_manual_has_every_figure_and_no_other)
)
