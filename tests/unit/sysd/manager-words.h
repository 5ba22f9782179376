// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A manager against a fake systemd, and what it tells: one line per callback. Shared by the tests of its
// facets.

#include "loop.h"

#include "buf.h"
#include "fake-systemd.h"
#include "systemd-manager.h"
#include "unit-state.h"
#include "watch-unit.h"

static FakeSystemd *fake;
static SystemdManager *manager;
static Buf recorded;
static bool closed;
static char disconnected_why[128];
static unsigned n_jobs_done, n_synced, n_disconnected, n_loaded, n_files_changed;

static void record(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void record(const char *format, ...) {
        char line[512];
        va_list ap;

        va_start(ap, format);
        vsnprintf(line, sizeof(line), format, ap);
        va_end(ap);
        assert_int_equal(buf_printf(&recorded, "%s\n", line), 0);
}

static inline void on_changed(const char *name, const UnitRuntime *now, void *userdata) {
        assert_ptr_equal(now, watched_unit(manager, name));
        record("%s: %s %s %s%s%s%s", name, load_state_to_string(now->load),
               active_state_to_string(now->active), now->sub, now->loaded ? "" : " (not loaded)",
               *now->result && !streq(now->result, "success") ? " " : "",
               streq(now->result, "success") ? "" : now->result);
}

static inline void on_unloaded(const char *name, void *userdata) {
        record("%s: unloaded", name);
}

static inline void on_reloaded(uint64_t since_us, void *userdata) {
        assert_true(since_us > 0);
        record("reloaded");
}

static inline void on_synced(void *userdata) {
        n_synced++;
        assert_true(systemd_manager_is_synced(manager));
        record("synced");
}

static inline void on_files_changed(void *userdata) {
        n_files_changed++;
        assert_true(systemd_manager_is_synced(manager));
}

static inline void on_disconnected(const char *why, void *userdata) {
        n_disconnected++;
        snprintf(disconnected_why, sizeof(disconnected_why), "%s", why);
        assert_false(systemd_manager_is_synced(manager));
        record("disconnected");
}

static inline void on_resumed(void *userdata) {
        record("resumed");
}

static inline void on_stopping_known(void *userdata) {
        record("known");
}

static inline void on_stopping(void *userdata) {
        record("stopping");
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
        .stopping_known = on_stopping_known,
};

static const char *const kinds[] = {"start", "stop", "restart", "reset-failed"};
static const char *const results[] = {"done",    "canceled", "timeout", "failed", "dependency",
                                      "skipped", "refused",  "no unit", "lost"};

static inline void on_job(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                          void *userdata) {
        n_jobs_done++;
        record("%s %s: %s%s%s", kinds[kind], name, results[result], *error ? ", " : "", error);
}

static inline void on_reload_done(int error, void *userdata) {
        record("reload: %d", error);
}

static inline void on_closed(void *userdata) {
        closed = true;
}

// What was told since the last call.
static inline void expect(const char *text) {
        assert_int_equal(buf_append(&recorded, "", 1), 0);
        assert_string_equal((char *) recorded.data, text);
        recorded.len = 0;
}

static inline void forget_recorded(void) {
        recorded.len = 0;
}

// All of this once more with a manager that is not trusted.
#ifdef NOT_TRUSTED
enum { MESSAGE_MAX = SYSTEMD_MESSAGE_MAX };
#else
enum { MESSAGE_MAX = 0 };
#endif

static inline void open_manager(uint64_t check_period_us) {
        SystemdConfig config = {
                .loop = &test_loop,
                .open_socket = fake_systemd_open,
                .open_userdata = fake,
                .check_period_us = check_period_us,
                .message_max = MESSAGE_MAX,
        };

        assert_int_equal(systemd_manager_new(&config, &ops, NULL, &manager), 0);
}

static inline void open_synced(void) {
        open_manager(0);
        loop_until(n_synced == 1);
        forget_recorded();
}

static inline int set_up(void **state) {
        int r = loop_setup(state);

        fake = fake_systemd_new(&test_loop, NULL);
        manager = NULL;
        closed = false;
        n_jobs_done = n_synced = n_disconnected = n_loaded = n_files_changed = 0;
        return r;
}

static inline int tear_down(void **state) {
        if (manager) {
                unwatch_all_units(manager);
                systemd_manager_close(manager, on_closed, NULL);
                loop_until(closed);
        }
        fake_systemd_free(fake);
        buf_done(&recorded);
        return loop_teardown(state);
}

static inline void job(SystemdJobKind kind, const char *name) {
        assert_int_equal(systemd_manager_job(manager, kind, name, on_job, NULL), 0);
}

static inline void settle_down(void) {
        SystemdStats before, after;

        do {
                systemd_manager_stats(manager, &before);
                for (int i = 0; i < 20; i++)
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                systemd_manager_stats(manager, &after);
        } while (before.signals != after.signals || before.calls != after.calls);
}

static inline void open_and_watch(const char *unit) {
        open_synced();
        watch_unit(manager, unit);
}

// All that was asked of it has been said.
static inline void open_and_settle(const char *unit) {
        open_and_watch(unit);
        settle_down();
}

// And what comes next is recorded alone.
static inline void open_and_rest(const char *unit) {
        open_and_settle(unit);
        forget_recorded();
}

static inline Argosy__ActiveState active(const char *name) {
        return watched_unit(manager, name)->active;
}
