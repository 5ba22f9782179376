// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The loop's own handles: signals, watchdog, daily and minutely looks, the time of each turn, the status for
// systemd.
//
//      run_watch_signals(), run_open_handles() -> the loop runs -> run_close_handles()
//
// None of them keeps the loop running. Numbers in the status may be STATUS_DELAY_MS old. A configuration
// that cannot be read is logged and the old one stays; SIGUSR1 logs all counters.

#include <errno.h>
#include <signal.h>
#include <systemd/sd-daemon.h>

#include "agent.h"
#include "buf.h"
#include "clock.h"
#include "cluster-state.h"
#include "counters.h"
#include "daemon-http.h"
#include "daemon-log.h"
#include "daemon.h"
#include "log.h"
#include "managers.h"
#include "paths.h"
#include "renew.h"
#include "run-private.h"
#include "tls-memory.h"

enum {
        MINUTE_MS = 60 * 1000,
        DAY_MS = 24 * 3600 * 1000,
        STATUS_DELAY_MS = 2000, // how long numbers in our status may be behind
        SLOW_TURN_US = 10000,   // a turn of the loop is never to be longer
        RECORDS_STAY_MS = 100,  // how long decrypted TLS records may wait to be overwritten
};

static void on_status_due(uv_timer_t *timer) {
        Daemon *d = timer->data;

        if (d->agent && d->end == DAEMON_RUNNING)
                daemon_status(d);
}

// Updates the status after STATUS_DELAY_MS, since thousands of units may change in a row.
static void note_status(Daemon *d) {
        size_t n_hosts = 0;

        if (!d->agent || uv_is_active((uv_handle_t *) &d->status))
                return;
        if (d->state)
                (void) cluster_state_hosts(d->state, &n_hosts);
        if (agent_n_units(d->agent) != d->notified_units || n_hosts != d->notified_hosts)
                uv_timer_start(&d->status, on_status_due, STATUS_DELAY_MS, 0);
}

static void on_terminate(uv_signal_t *signal, int number) {
        run_end(signal->data, DAEMON_EXIT);
}

int run_load_config(const Daemon *d, Config *ret) {
        return config_load(&(ConfigSource){d->paths->config_dirs, d->user_name}, ret);
}

// Without memory for the words, too, what argosyd was started with is what it goes on with.
static void keep_until_restart(Daemon *d, Config *next) {
        _cleanup_free_ char *keys = config_keep_running(next, &d->config);

        if (!keys || *keys)
                log_notice("What has changed of %s counts from the next restart of argosyd.",
                           keys ?: "the configuration");
}

void run_reload(Daemon *d) {
        Config next, before;
        int r;

        (void) sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long) clock_monotonic_us());
        r = run_load_config(d, &next);
        if (r < 0)
                log_error("Cannot read the configuration: %s; the old one stays.", strerror(-r));
        else {
                keep_until_restart(d, &next);
                before = d->config;
                d->config = next;
                managers_on_config(d, before.managers, before.n_managers);
                config_done(&before);
                log_set_level((int) d->config.log_level);
                d->capacity = capacity_read(CGROUP_ROOT, &d->config); // told with the labels
                agent_set_labels(d->agent, (const Argosy__Label *const *) d->config.labels,
                                 d->config.n_labels);
                agent_set_take_from(d->agent, d->config.fleet_take_over);
                address_check(d);
                daemon_http_update(d);
                log_info("The configuration was read again.");
        }
        (void) sd_notify(0, "READY=1");
        daemon_status(d);
}

static void on_hangup(uv_signal_t *signal, int number) {
        run_reload(signal->data);
}

// SIGUSR1: all counters without labels, as one line in the journal, for people and for the benchmarks.
static void on_usr1(uv_signal_t *signal, int number) {
        Daemon *d = signal->data;
        _cleanup_buf_ Buf line = {};
        CounterList all = {};
        int r = 0;

        daemon_counters(d, &all);
        for (size_t i = 0; i < all.n && r == 0; i++)
                if (!all.rows[i].labels[0].key)
                        r = buf_printf(&line, " %s=%llu", all.rows[i].of.name,
                                       (unsigned long long) all.rows[i].value);
        counter_list_done(&all);
        if (r < 0)
                return;
        log_info("Counters:%.*s", (int) line.len, (const char *) line.data);
        d->stats.turn_max_us = d->stats.turn_cpu_max_us = 0;
        d->turn_uncounted = true; // to write that line takes longer than most turns
}

// Attaches again if this host's capacity is not the one that the leader was told.
static void look_at_capacity(Daemon *d) {
        Capacity now = capacity_read(CGROUP_ROOT, &d->config);

        if (capacity_equal(&now, &d->capacity))
                return;
        log_info("This host offers %u.%03u cores and %u MiB of memory now.", now.cpu_milli / 1000,
                 now.cpu_milli % 1000, now.memory_mib);
        d->capacity = now;
        agent_attach_again(d->agent);
}

static void on_minutely(uv_timer_t *timer) {
        look_at_capacity(timer->data);
        // of a route that has come, and of all else on some kernels, nobody says anything
        address_check(timer->data);
}

static void on_daily(uv_timer_t *timer) {
        renew_if_due(timer->data);
        daemon_http_update(timer->data);
        daemon_log_tidy_again(timer->data);
}

static void on_watchdog(uv_timer_t *timer) {
        (void) sd_notify(0, "WATCHDOG=1");
}

static void on_records(uv_timer_t *timer) {
        Daemon *d = timer->data;

        d->records_wiped_ns = uv_hrtime();
        tls_memory_wipe_records();
}

// Overwrites decrypted records: at once where they are rare, so that no timer wakes the loop; together with
// the next ones where they follow each other.
static void wipe_records(Daemon *d, uint64_t now_ns) {
        if (!tls_memory_has_records() || uv_is_active((uv_handle_t *) &d->records))
                return;
        if (now_ns - d->records_wiped_ns >= (uint64_t) RECORDS_STAY_MS * USEC_PER_MSEC * 1000)
                on_records(&d->records);
        else
                uv_timer_start(&d->records, on_records, RECORDS_STAY_MS, 0);
}

// Just before the loop sleeps: the time of this turn, without the time in which it slept.
static void on_turn_end(uv_prepare_t *prepare) {
        Daemon *d = prepare->data;
        uint64_t now_ns = uv_hrtime(), idle_ns = uv_metrics_idle_time(d->loop), cpu_ns = clock_thread_ns();
        uint64_t cpu_us = (cpu_ns - d->turn_cpu_ns) / 1000;
        uint64_t took_us = (now_ns - d->turn_end_ns - (idle_ns - d->idle_ns)) / 1000;
        bool first = d->turn_end_ns == 0;

        note_status(d);
        wipe_records(d, now_ns);
        d->turn_end_ns = now_ns;
        d->turn_cpu_ns = cpu_ns;
        d->idle_ns = idle_ns;
        if (first)
                return;
        if (d->turn_uncounted)
                took_us = cpu_us = 0;
        d->turn_uncounted = false;
        time_histogram_add(&d->turns, took_us);
        d->stats.turn_max_us = MAX_OF(d->stats.turn_max_us, took_us);
        d->stats.turn_cpu_max_us = MAX_OF(d->stats.turn_cpu_max_us, cpu_us);
        if (took_us > SLOW_TURN_US) {
                d->stats.slow_turns++;
                log_debug("One turn of the loop took %llu ms.",
                          (unsigned long long) (took_us / USEC_PER_MSEC));
        }
}

static void watch_signal(Daemon *d, uv_loop_t *loop, uv_signal_t *signal, uv_signal_cb cb, int number) {
        uv_signal_init(loop, signal);
        signal->data = d;
        uv_signal_start(signal, cb, number);
        uv_unref((uv_handle_t *) signal);
}

void run_watch_signals(Daemon *d, uv_loop_t *loop) {
        watch_signal(d, loop, &d->sigterm, on_terminate, SIGTERM);
        watch_signal(d, loop, &d->sigint, on_terminate, SIGINT);
        watch_signal(d, loop, &d->sighup, on_hangup, SIGHUP);
        watch_signal(d, loop, &d->sigusr1, on_usr1, SIGUSR1);
}

void run_open_handles(Daemon *d) {
        uint64_t watchdog_us = 0;

        uv_timer_init(d->loop, &d->watchdog);
        time_limit_init(&d->deadline, d->loop, d);
        uv_timer_init(d->loop, &d->daily);
        uv_timer_init(d->loop, &d->minutely);
        uv_timer_init(d->loop, &d->status);
        uv_timer_init(d->loop, &d->records);
        tls_memory_keep_records();
        state_writer_init(d);
        (void) drain_init(&d->hosts_drain, d->loop, daemon_log_on_hosts, d);
        (void) drain_init(&d->reclaim_drain, d->loop, daemon_log_on_reclaim, d);
        uv_prepare_init(d->loop, &d->turn_end);
        heap_keeper_init(&d->heap, d->loop, HEAP_RELEASE_DELAY_MS);
        d->watchdog.data = d->daily.data = d->minutely.data = d->turn_end.data = d->status.data =
                d->records.data = d;
        uv_unref((uv_handle_t *) &d->watchdog);
        uv_unref((uv_handle_t *) &d->deadline.timer);
        uv_unref((uv_handle_t *) &d->daily);
        uv_unref((uv_handle_t *) &d->minutely);
        uv_unref((uv_handle_t *) &d->status);
        uv_unref((uv_handle_t *) &d->records);
        uv_timer_start(&d->daily, on_daily, DAY_MS, DAY_MS);
        uv_timer_start(&d->minutely, on_minutely, MINUTE_MS, MINUTE_MS);
        uv_unref((uv_handle_t *) &d->turn_end);
        uv_prepare_start(&d->turn_end, on_turn_end);
        if (sd_watchdog_enabled(0, &watchdog_us) > 0)
                uv_timer_start(&d->watchdog, on_watchdog, 0, watchdog_us / USEC_PER_MSEC / 3);
}

void run_close_handles(Daemon *d) {
        uv_handle_t *handles[] = {(uv_handle_t *) &d->sigterm,  (uv_handle_t *) &d->sigint,
                                  (uv_handle_t *) &d->sighup,   (uv_handle_t *) &d->sigusr1,
                                  (uv_handle_t *) &d->watchdog, (uv_handle_t *) &d->turn_end,
                                  (uv_handle_t *) &d->daily,    (uv_handle_t *) &d->hosts_drain.idle,
                                  (uv_handle_t *) &d->minutely,
                                  (uv_handle_t *) &d->status,   (uv_handle_t *) &d->records,
                                  (uv_handle_t *) &d->reclaim_drain.idle};

        for (size_t i = 0; i < ELEMENTSOF(handles); i++)
                if (handles[i]->type != UV_UNKNOWN_HANDLE) // signals may not be watched
                        uv_close(handles[i], NULL);
        heap_keeper_close(&d->heap);
}
