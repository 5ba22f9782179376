// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units of a fake systemd: their jobs and states, and the signals that tell of them.
#include "fake-systemd-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "str.h"

// ---- signals

sd_bus_message *fake_signal_new(FakeSystemd *f, const char *path, const char *interface,
                                const char *member) {
        sd_bus_message *m;

        if (!f->bus)
                return NULL;
        fake_must(sd_bus_message_new_signal(f->bus, &m, path, interface, member));
        return m;
}

char *fake_unit_path(const char *name) {
        char *path;

        fake_must(sd_bus_path_encode(PATH "/unit", name, &path));
        return path;
}

static void send_unit(FakeSystemd *f, const FakeUnit *u, const char *member) {
        _cleanup_free_ char *path = fake_unit_path(u->name);
        sd_bus_message *m =
                f->lose || f->only_jobs ? NULL : fake_signal_new(f, PATH, NAME ".Manager", member);

        if (!m)
                return;
        fake_must(sd_bus_message_append(m, "so", u->name, path));
        fake_systemd_notify(f, m);
}

static void type_interface(const char *name, char ret[64]) {
        snprintf(ret, 64, NAME ".%s", strrchr(name, '.') + 1);
        ret[strlen(NAME) + 1] = (char) (ret[strlen(NAME) + 1] - 'a' + 'A');
}

static void send_changes(FakeSystemd *f, const FakeUnit *u) {
        _cleanup_free_ char *path = fake_unit_path(u->name);
        const char *stamp = streq(u->active, "active")         ? "ActiveEnterTimestamp"
                            : streq(u->active, "activating")   ? "InactiveExitTimestamp"
                            : streq(u->active, "deactivating") ? "ActiveExitTimestamp"
                                                               : "InactiveEnterTimestamp";
        char interface[64];
        sd_bus_message *m =
                f->lose || f->only_jobs
                        ? NULL
                        : fake_signal_new(f, path, "org.freedesktop.DBus.Properties", "PropertiesChanged");

        if (!m)
                return;
        type_interface(u->name, interface);
        if (str_has_suffix(u->name, ".service"))
                fake_must(sd_bus_message_append(m, "sa{sv}as", interface, 4, "MainPID", "u", 4711, "Result",
                                                "s", u->result, "UID", "u", UINT32_MAX, "NRestarts", "u",
                                                u->n_restarts, 0));
        else
                fake_must(sd_bus_message_append(m, "sa{sv}as", interface, 2, "MainPID", "u", 4711, "Result",
                                                "s", u->result, 0));
        fake_systemd_notify(f, m);
        m = fake_signal_new(f, path, "org.freedesktop.DBus.Properties", "PropertiesChanged");
        fake_must(sd_bus_message_append(m, "s", NAME ".Unit"));
        fake_must(sd_bus_message_open_container(m, 'a', "{sv}"));
        fake_must(sd_bus_message_append(m, "{sv}{sv}{sv}", "ActiveState", "s", u->active, "SubState", "s",
                                        u->sub, stamp, "t", u->since_us));
        fake_must(sd_bus_message_open_container(m, 'e', "sv"));
        fake_must(sd_bus_message_append(m, "s", "InvocationID"));
        fake_must(sd_bus_message_open_container(m, 'v', "ay"));
        fake_must(sd_bus_message_append_array(m, 'y', u->invocation, 16));
        fake_must(sd_bus_message_close_container(m));
        fake_must(sd_bus_message_close_container(m));
        fake_must(sd_bus_message_append(m, "{sv}{sv}{sv}", "Job", "(uo)", u->job, "/", "ConditionResult",
                                        "b", !u->skipped_us, "ConditionTimestamp", "t", u->skipped_us));
        fake_must(sd_bus_message_close_container(m));
        fake_must(sd_bus_message_append(m, "as", 1, "StatusErrno"));
        fake_systemd_notify(f, m);
}

// What the unit has to tell leaves now.
void fake_emit_waiting(FakeSystemd *f, FakeUnit *u) {
        list_unlink(&u->waiting);
        if (u->is_new)
                send_unit(f, u, "UnitNew");
        if (u->is_changed)
                send_changes(f, u);
        u->is_new = u->is_changed = false;
}

static void emit_later(FakeSystemd *f, FakeUnit *u) {
        if (!list_is_linked(&u->waiting))
                list_append(&f->waiting, &u->waiting);
        if (!f->busy)
                fake_emit_waiting(f, u);
}

void fake_emit_new(FakeSystemd *f, FakeUnit *u) {
        u->is_new = true;
        emit_later(f, u);
}

static void emit_changes(FakeSystemd *f, FakeUnit *u) {
        u->is_changed = true;
        emit_later(f, u);
}

// Nothing that the unit had to tell is overtaken by its end.
void fake_emit_removed(FakeSystemd *f, FakeUnit *u) {
        fake_emit_waiting(f, u);
        send_unit(f, u, "UnitRemoved");
}

void fake_emit_job(FakeSystemd *f, uint32_t id, const char *unit, const char *member, const char *result) {
        sd_bus_message *m = f->lose ? NULL : fake_signal_new(f, PATH, NAME ".Manager", member);
        char path[64];

        if (!m)
                return;
        snprintf(path, sizeof(path), PATH "/job/%u", id);
        fake_must(sd_bus_message_append(m, "uos", id, path, unit));
        if (result)
                fake_must(sd_bus_message_append(m, "s", result));
        fake_systemd_notify(f, m);
}

void fake_emit_reloading(FakeSystemd *f, int on) {
        sd_bus_message *m = fake_signal_new(f, PATH, NAME ".Manager", "Reloading");

        if (!m)
                return;
        fake_must(sd_bus_message_append(m, "b", on));
        fake_systemd_send(f, m);
}

// ---- units

FakeUnit *fake_unit_get(FakeSystemd *f, const char *name) {
        FakeUnit *u = map_find_str(&f->units, name);

        if (u)
                return u;
        u = calloc(1, sizeof(*u));
        if (!u)
                abort();
        snprintf(u->name, sizeof(u->name), "%s", name);
        strcpy(u->active, "inactive");
        strcpy(u->sub, "dead");
        strcpy(u->result, "success");
        list_init(&u->waiting);
        fake_must(map_add_str(&f->units, u->name, u));
        return u;
}

static uint64_t file_identity(const char *path) {
        struct stat st;

        if (stat(path, &st) < 0)
                return 0;
        return (uint64_t) st.st_ino * UINT64_C(0x9e3779b97f4a7c15) +
               (uint64_t) st.st_mtim.tv_sec * 1000000007 + (uint64_t) st.st_mtim.tv_nsec + 1;
}

// The unit's file or its template's; 0: none.
uint64_t fake_unit_file(FakeSystemd *f, const char *name) {
        const char *at = strchr(name, '@'), *dot = strrchr(name, '.');
        char path[1024];

        if (!f->dir)
                return 0;
        snprintf(path, sizeof(path), "%s/%s", f->dir, name);
        uint64_t file = file_identity(path);
        if (file || !at || !dot)
                return file;
        snprintf(path, sizeof(path), "%s/%.*s@%s", f->dir, (int) (at - name), name, dot);
        return file_identity(path);
}

const char *fake_unit_load_word(FakeSystemd *f, const FakeUnit *u) {
        if (!u->exists && !fake_unit_file(f, u->name))
                return "not-found";
        return u->behaviour == FAKE_BAD_SETTING ? "bad-setting" : "loaded";
}

void fake_unit_read(FakeSystemd *f, FakeUnit *u) {
        u->file = fake_unit_file(f, u->name);
        if (f->judge)
                u->behaviour = f->judge(u->name, f->on_data);
}

void fake_unit_load(FakeSystemd *f, FakeUnit *u) {
        if (u->loaded)
                return;
        u->loaded = true;
        fake_unit_read(f, u);
        fake_emit_new(f, u);
}

void fake_unit_collect(FakeSystemd *f, FakeUnit *u) {
        if (!u->loaded || u->pinned || u->job || !streq(u->active, "inactive"))
                return;
        u->loaded = false;
        fake_emit_removed(f, u);
}

static void change_cgroup(FakeSystemd *f, const FakeUnit *u, bool up) {
        _cleanup_free_ char *path = f->cgroups ? str_printf("%s/%s", f->cgroups, u->name) : NULL;

        if (path && up)
                fake_must(mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0);
        else if (path)
                fake_must(rmdir(path) < 0 && errno != ENOENT ? -errno : 0);
}

static uint64_t now_us(void) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

void fake_unit_change(FakeSystemd *f, FakeUnit *u, const char *active, const char *sub, const char *result) {
        bool was_down = streq(u->active, "inactive") || streq(u->active, "failed");
        bool is_down = streq(active, "inactive") || streq(active, "failed");

        u->changed_us = now_us();
        if (!was_down || !is_down)
                u->since_us = u->changed_us;
        if (was_down && !is_down) {
                u->skipped_us = 0;
                memset(u->invocation, 0, 16);
                f->last_invocation++;
                memcpy(u->invocation, &f->last_invocation, sizeof(f->last_invocation));
        }
        if (was_down != is_down)
                change_cgroup(f, u, was_down);
        if (f->changed && !streq(u->active, active))
                f->changed(u->name, u->active, active, f->on_data);
        snprintf(u->active, sizeof(u->active), "%s", active);
        snprintf(u->sub, sizeof(u->sub), "%s", sub);
        snprintf(u->result, sizeof(u->result), "%s", result ?: "success");
        emit_changes(f, u);
}

void fake_unit_job_end(FakeSystemd *f, FakeUnit *u, const char *result) {
        uint32_t id = u->job;

        u->job = 0;
        f->n_jobs--;
        fake_emit_job(f, id, u->name, "JobRemoved", result);
}

// The last change of a job and its end, in the order that the test wants.
static void change_and_end(FakeSystemd *f, FakeUnit *u, const char *active, const char *sub,
                           const char *unit_result, const char *job_result) {
        if (f->job_first)
                fake_unit_job_end(f, u, job_result);
        fake_unit_change(f, u, active, sub, unit_result);
        if (!f->job_first)
                fake_unit_job_end(f, u, job_result);
        fake_unit_collect(f, u);
}

static void run_start(FakeSystemd *f, FakeUnit *u) {
        if (streq(u->active, "active")) {
                fake_unit_job_end(f, u, "done");
                return;
        }
        switch (u->behaviour) {
        case FAKE_RUNS:
                fake_unit_change(f, u, "activating", "start", NULL);
                change_and_end(f, u, "active", "running", NULL, "done");
                break;
        case FAKE_ENDS:
                fake_unit_change(f, u, "activating", "start", NULL);
                change_and_end(f, u, "inactive", "dead", NULL, "done");
                break;
        case FAKE_FAILS:
                fake_unit_change(f, u, "activating", "start", NULL);
                change_and_end(f, u, "failed", "failed", "exit-code", "failed");
                break;
        case FAKE_SKIPS:
                u->skipped_us = now_us();
                emit_changes(f, u);
                fake_unit_job_end(f, u, "done");
                fake_unit_collect(f, u);
                break;
        case FAKE_EXITS:
                change_and_end(f, u, "active", "running", NULL, "done");
                fake_unit_change(f, u, "inactive", "dead", NULL);
                fake_unit_collect(f, u);
                break;
        default:
                fake_unit_change(f, u, "activating", "start", NULL);
                break;
        }
}

static void run_stop(FakeSystemd *f, FakeUnit *u) {
        if (streq(u->active, "inactive") || streq(u->active, "failed")) {
                fake_unit_job_end(f, u, "done");
                fake_unit_collect(f, u);
        } else if (u->behaviour == FAKE_HANGS)
                fake_unit_change(f, u, "deactivating", "stop-sigterm", NULL);
        else
                change_and_end(f, u, "inactive", "dead", NULL, "done");
}

void fake_unit_run_job(FakeSystemd *f, FakeUnit *u) {
        if (streq(u->job_type, "stop")) {
                run_stop(f, u);
                return;
        }
        if (streq(u->job_type, "restart") && streq(u->active, "active"))
                fake_unit_change(f, u, "inactive", "dead", NULL);
        run_start(f, u);
}

void fake_systemd_finish(FakeSystemd *f, const char *name, const char *result) {
        FakeUnit *u = fake_unit_get(f, name);

        if (!u->job)
                return;
        if (streq(u->job_type, "stop"))
                change_and_end(f, u, "inactive", "dead", NULL, result);
        else if (streq(result, "done") && u->behaviour == FAKE_WAITS)
                change_and_end(f, u, "inactive", "dead", NULL, result);
        else if (streq(result, "done"))
                change_and_end(f, u, "active", "running", NULL, result);
        else if (streq(result, "canceled"))
                fake_unit_job_end(f, u, result);
        else
                change_and_end(f, u, "failed", "failed", streq(result, "timeout") ? "timeout" : "exit-code",
                               result);
}
