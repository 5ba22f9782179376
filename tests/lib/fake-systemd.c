// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake-systemd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "list.h"
#include "map.h"
#include "str.h"

#define NAME "org.freedesktop.systemd1"
#define PATH "/org/freedesktop/systemd1"

typedef struct FakeUnit {
        ListNode waiting; // in FakeSystemd.waiting: has something to tell
        bool exists, loaded, pinned, is_new, is_changed;
        FakeBehaviour behaviour;
        char active[16], sub[24], result[24];
        uint8_t invocation[16];
        uint64_t since_us, changed_us; // down or up, and of the last change of state
        uint64_t file; // that it was loaded from, 0: none
        uint32_t job;  // 0: none
        char job_type[16];
        unsigned order;
        char name[256];
} FakeUnit;

typedef struct Count {
        unsigned n;
        char member[64];
} Count;

struct FakeSystemd {
        uv_loop_t *loop;
        char *dir;
        Map units, counts;
        sd_bus *bus;
        uv_poll_t *poll; // of this connection
        uv_prepare_t prepare;
        uv_idle_t again;
        int n_handles;
        bool lose, only_jobs, job_first, early, stall, refuse, reloading, stopping, cut, drop, busy, mute;
        size_t complaint_bytes;
        uint64_t serial; // of the last message of this connection
        ListNode waiting;
        uint64_t fate_seed; // 0: signals simply leave
        FakeFate fate;
        sd_bus_message *late[64];
        size_t n_late;
        char *cgroups;
        int cut_after;
        uint32_t last_job;
        unsigned n_jobs, jobs_peak;
        uint64_t last_invocation;
};

static void must(int r) {
        if (r < 0) {
                fprintf(stderr, "fake systemd: %s\n", strerror(-r));
                abort();
        }
}

// ---- the connection

static void on_poll_closed(uv_handle_t *h) {
        FakeSystemd *f = h->data;

        f->n_handles--;
        free(h);
}

static void forget_late(FakeSystemd *f) {
        while (f->n_late > 0)
                sd_bus_message_unref(f->late[--f->n_late]);
}

static void drop(FakeSystemd *f) {
        if (!f->bus)
                return;
        forget_late(f);
        f->serial = 0;
        uv_close((uv_handle_t *) f->poll, on_poll_closed);
        f->poll = NULL;
        f->bus = sd_bus_close_unref(f->bus);
        f->cut = false;
        f->cut_after = -1;
}

static void process(FakeSystemd *f) {
        int r = 1;

        uv_idle_stop(&f->again);
        for (int i = 0; i < 64 && r > 0 && f->bus && !f->stall && !f->cut; i++)
                r = sd_bus_process(f->bus, NULL);
        if (r < 0 || f->cut)
                drop(f);
}

static void on_poll(uv_poll_t *h, int status, int events) {
        process(h->data);
}

static void on_again(uv_idle_t *h) {
        process(h->data);
}

static void on_prepare(uv_prepare_t *h) {
        FakeSystemd *f = h->data;
        uint64_t until;
        int events;

        if (f->cut)
                drop(f);
        if (!f->bus)
                return;
        events = sd_bus_get_events(f->bus);
        if (events < 0) {
                drop(f);
                return;
        }
        if (f->stall)
                events = 0;
        uv_poll_start(f->poll, (events & POLLIN ? UV_READABLE : 0) | (events & POLLOUT ? UV_WRITABLE : 0),
                      on_poll);
        if (!f->stall && sd_bus_get_timeout(f->bus, &until) > 0 && until == 0)
                uv_idle_start(&f->again, on_again);
}

// Owns `message`.
static void say(FakeSystemd *f, sd_bus_message *message) {
        if (f->mute && sd_bus_message_is_signal(message, NULL, NULL) <= 0) {
                sd_bus_message_unref(message);
                return;
        }
        if (f->bus && !f->cut)
                must(sd_bus_message_seal(message, ++f->serial, 0));
        if (f->bus && !f->cut && !f->drop && sd_bus_send(f->bus, message, NULL) >= 0 && f->cut_after > 0 &&
            --f->cut_after == 0) {
                sd_bus_flush(f->bus);
                f->cut = true;
        }
        sd_bus_message_unref(message);
}

// xorshift64*
static unsigned chance(FakeSystemd *f, unsigned of) {
        f->fate_seed ^= f->fate_seed >> 12;
        f->fate_seed ^= f->fate_seed << 25;
        f->fate_seed ^= f->fate_seed >> 27;
        return (unsigned) (f->fate_seed * UINT64_C(2685821657736338717) >> 33) % of;
}

static void say_late(FakeSystemd *f) {
        size_t i = chance(f, (unsigned) f->n_late);
        sd_bus_message *message = f->late[i];

        f->late[i] = f->late[--f->n_late];
        say(f, message);
}

// A signal of a unit. Owns `message`.
static void tell(FakeSystemd *f, sd_bus_message *message) {
        if (f->fate_seed == 0) {
                say(f, message);
                return;
        }
        if (chance(f, 100) < f->fate.lost) {
                sd_bus_message_unref(message);
        } else if (chance(f, 100) < f->fate.late) {
                if (f->n_late == sizeof(f->late) / sizeof(*f->late))
                        say_late(f);
                f->late[f->n_late++] = message;
        } else {
                say(f, message);
        }
        if (f->n_late > 0 && chance(f, 4) == 0)
                say_late(f);
}

// ---- signals

static sd_bus_message *signal_new(FakeSystemd *f, const char *path, const char *interface,
                                  const char *member) {
        sd_bus_message *m;

        if (!f->bus)
                return NULL;
        must(sd_bus_message_new_signal(f->bus, &m, path, interface, member));
        return m;
}

static char *unit_path(const char *name) {
        char *path;

        must(sd_bus_path_encode(PATH "/unit", name, &path));
        return path;
}

static void send_unit(FakeSystemd *f, const FakeUnit *u, const char *member) {
        _cleanup_free_ char *path = unit_path(u->name);
        sd_bus_message *m = f->lose || f->only_jobs ? NULL : signal_new(f, PATH, NAME ".Manager", member);

        if (!m)
                return;
        must(sd_bus_message_append(m, "so", u->name, path));
        tell(f, m);
}

static void type_interface(const char *name, char ret[64]) {
        snprintf(ret, 64, NAME ".%s", strrchr(name, '.') + 1);
        ret[strlen(NAME) + 1] = (char) (ret[strlen(NAME) + 1] - 'a' + 'A');
}

static void send_changes(FakeSystemd *f, const FakeUnit *u) {
        _cleanup_free_ char *path = unit_path(u->name);
        const char *stamp = streq(u->active, "active")         ? "ActiveEnterTimestamp"
                            : streq(u->active, "activating")   ? "InactiveExitTimestamp"
                            : streq(u->active, "deactivating") ? "ActiveExitTimestamp"
                                                               : "InactiveEnterTimestamp";
        char interface[64];
        sd_bus_message *m = f->lose || f->only_jobs ? NULL
                                                    : signal_new(f, path, "org.freedesktop.DBus.Properties",
                                                                 "PropertiesChanged");

        if (!m)
                return;
        type_interface(u->name, interface);
        must(sd_bus_message_append(m, "sa{sv}as", interface, 2, "MainPID", "u", 4711, "Result", "s",
                                   u->result, 0));
        tell(f, m);
        m = signal_new(f, path, "org.freedesktop.DBus.Properties", "PropertiesChanged");
        must(sd_bus_message_append(m, "s", NAME ".Unit"));
        must(sd_bus_message_open_container(m, 'a', "{sv}"));
        must(sd_bus_message_append(m, "{sv}{sv}{sv}", "ActiveState", "s", u->active, "SubState", "s", u->sub,
                                   stamp, "t", u->since_us));
        must(sd_bus_message_open_container(m, 'e', "sv"));
        must(sd_bus_message_append(m, "s", "InvocationID"));
        must(sd_bus_message_open_container(m, 'v', "ay"));
        must(sd_bus_message_append_array(m, 'y', u->invocation, 16));
        must(sd_bus_message_close_container(m));
        must(sd_bus_message_close_container(m));
        must(sd_bus_message_append(m, "{sv}", "Job", "(uo)", u->job, "/"));
        must(sd_bus_message_close_container(m));
        must(sd_bus_message_append(m, "as", 1, "StatusErrno"));
        tell(f, m);
}

// What the unit has to tell leaves now.
static void emit_waiting(FakeSystemd *f, FakeUnit *u) {
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
                emit_waiting(f, u);
}

static void emit_new(FakeSystemd *f, FakeUnit *u) {
        u->is_new = true;
        emit_later(f, u);
}

static void emit_changes(FakeSystemd *f, FakeUnit *u) {
        u->is_changed = true;
        emit_later(f, u);
}

// Nothing that the unit had to tell is overtaken by its end.
static void emit_removed(FakeSystemd *f, FakeUnit *u) {
        emit_waiting(f, u);
        send_unit(f, u, "UnitRemoved");
}

static void emit_job(FakeSystemd *f, uint32_t id, const char *unit, const char *member, const char *result) {
        sd_bus_message *m = f->lose ? NULL : signal_new(f, PATH, NAME ".Manager", member);
        char path[64];

        if (!m)
                return;
        snprintf(path, sizeof(path), PATH "/job/%u", id);
        must(sd_bus_message_append(m, "uos", id, path, unit));
        if (result)
                must(sd_bus_message_append(m, "s", result));
        tell(f, m);
}

static void emit_reloading(FakeSystemd *f, int on) {
        sd_bus_message *m = signal_new(f, PATH, NAME ".Manager", "Reloading");

        if (!m)
                return;
        must(sd_bus_message_append(m, "b", on));
        say(f, m);
}

// ---- units

static FakeUnit *unit_get(FakeSystemd *f, const char *name) {
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
        must(map_add_str(&f->units, u->name, u));
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
static uint64_t file_of(FakeSystemd *f, const char *name) {
        const char *at = strchr(name, '@'), *dot = strrchr(name, '.');
        char path[1024];
        uint64_t file;

        if (!f->dir)
                return 0;
        snprintf(path, sizeof(path), "%s/%s", f->dir, name);
        file = file_identity(path);
        if (file || !at || !dot)
                return file;
        snprintf(path, sizeof(path), "%s/%.*s@%s", f->dir, (int) (at - name), name, dot);
        return file_identity(path);
}

static const char *load_word(FakeSystemd *f, const FakeUnit *u) {
        if (!u->exists && !file_of(f, u->name))
                return "not-found";
        return u->behaviour == FAKE_BAD_SETTING ? "bad-setting" : "loaded";
}

static void load(FakeSystemd *f, FakeUnit *u) {
        if (u->loaded)
                return;
        u->loaded = true;
        u->file = file_of(f, u->name);
        emit_new(f, u);
}

static void collect(FakeSystemd *f, FakeUnit *u) {
        if (!u->loaded || u->pinned || u->job || !streq(u->active, "inactive"))
                return;
        u->loaded = false;
        emit_removed(f, u);
}

static void change_cgroup(FakeSystemd *f, const FakeUnit *u, bool up) {
        _cleanup_free_ char *path = f->cgroups ? str_printf("%s/%s", f->cgroups, u->name) : NULL;

        if (path && up)
                must(mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0);
        else if (path)
                must(rmdir(path) < 0 && errno != ENOENT ? -errno : 0);
}

static void change(FakeSystemd *f, FakeUnit *u, const char *active, const char *sub, const char *result) {
        bool was_down = streq(u->active, "inactive") || streq(u->active, "failed");
        bool is_down = streq(active, "inactive") || streq(active, "failed");
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        u->changed_us = (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
        if (!was_down || !is_down)
                u->since_us = u->changed_us;
        if (was_down && !is_down) {
                memset(u->invocation, 0, 16);
                f->last_invocation++;
                memcpy(u->invocation, &f->last_invocation, sizeof(f->last_invocation));
        }
        if (was_down != is_down)
                change_cgroup(f, u, was_down);
        snprintf(u->active, sizeof(u->active), "%s", active);
        snprintf(u->sub, sizeof(u->sub), "%s", sub);
        snprintf(u->result, sizeof(u->result), "%s", result ?: "success");
        emit_changes(f, u);
}

static void job_end(FakeSystemd *f, FakeUnit *u, const char *result) {
        uint32_t id = u->job;

        u->job = 0;
        f->n_jobs--;
        emit_job(f, id, u->name, "JobRemoved", result);
}

// The last change of a job and its end, in the order that the test wants.
static void change_and_end(FakeSystemd *f, FakeUnit *u, const char *active, const char *sub,
                           const char *unit_result, const char *job_result) {
        if (f->job_first)
                job_end(f, u, job_result);
        change(f, u, active, sub, unit_result);
        if (!f->job_first)
                job_end(f, u, job_result);
        collect(f, u);
}

static void run_start(FakeSystemd *f, FakeUnit *u) {
        if (streq(u->active, "active")) {
                job_end(f, u, "done");
                return;
        }
        switch (u->behaviour) {
        case FAKE_RUNS:
                change(f, u, "activating", "start", NULL);
                change_and_end(f, u, "active", "running", NULL, "done");
                break;
        case FAKE_ENDS:
                change(f, u, "activating", "start", NULL);
                change_and_end(f, u, "inactive", "dead", NULL, "done");
                break;
        case FAKE_FAILS:
                change(f, u, "activating", "start", NULL);
                change_and_end(f, u, "failed", "failed", "exit-code", "failed");
                break;
        case FAKE_EXITS:
                change_and_end(f, u, "active", "running", NULL, "done");
                change(f, u, "inactive", "dead", NULL);
                collect(f, u);
                break;
        default:
                change(f, u, "activating", "start", NULL);
                break;
        }
}

static void run_stop(FakeSystemd *f, FakeUnit *u) {
        if (streq(u->active, "inactive") || streq(u->active, "failed")) {
                job_end(f, u, "done");
                collect(f, u);
        } else if (u->behaviour == FAKE_HANGS)
                change(f, u, "deactivating", "stop-sigterm", NULL);
        else
                change_and_end(f, u, "inactive", "dead", NULL, "done");
}

static void run_job(FakeSystemd *f, FakeUnit *u) {
        if (streq(u->job_type, "stop")) {
                run_stop(f, u);
                return;
        }
        if (streq(u->job_type, "restart") && streq(u->active, "active"))
                change(f, u, "inactive", "dead", NULL);
        run_start(f, u);
}

void fake_systemd_finish(FakeSystemd *f, const char *name, const char *result) {
        FakeUnit *u = unit_get(f, name);

        if (!u->job)
                return;
        if (streq(u->job_type, "stop"))
                change_and_end(f, u, "inactive", "dead", NULL, result);
        else if (streq(result, "done"))
                change_and_end(f, u, "active", "running", NULL, result);
        else if (streq(result, "canceled"))
                job_end(f, u, result);
        else
                change_and_end(f, u, "failed", "failed", streq(result, "timeout") ? "timeout" : "exit-code",
                               result);
}

// ---- method calls

static sd_bus_message *reply_new(sd_bus_message *call) {
        sd_bus_message *reply;

        must(sd_bus_message_new_method_return(call, &reply));
        return reply;
}

static void reply_error(FakeSystemd *f, sd_bus_message *call, const char *name, const char *format,
                        const char *arg) {
        sd_bus_message *reply;

        must(sd_bus_message_new_method_errorf(call, &reply, name, format, arg));
        say(f, reply);
}

static void append_row(FakeSystemd *f, sd_bus_message *reply, const FakeUnit *u) {
        _cleanup_free_ char *path = unit_path(u->name);
        char job[64];

        snprintf(job, sizeof(job), PATH "/job/%u", u->job);
        must(sd_bus_message_append(reply, "(ssssssouso)", u->name, "a unit", load_word(f, u), u->active,
                                   u->sub, "", path, u->job, u->job ? u->job_type : "", u->job ? job : "/"));
}

static void do_list_units(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);

        must(sd_bus_message_open_container(reply, 'a', "(ssssssouso)"));
        map_foreach (slot, &f->units) {
                const FakeUnit *u = slot->value;

                if (u->loaded)
                        append_row(f, reply, u);
        }
        must(sd_bus_message_close_container(reply));
        say(f, reply);
}

static void do_list_filtered(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);
        bool inactive = false, failed = false;
        const char *state;

        must(sd_bus_message_enter_container(call, 'a', "s"));
        while (sd_bus_message_read(call, "s", &state) > 0) {
                inactive |= streq(state, "inactive");
                failed |= streq(state, "failed");
        }
        must(sd_bus_message_open_container(reply, 'a', "(ssssssouso)"));
        map_foreach (slot, &f->units) {
                const FakeUnit *u = slot->value;

                if (u->loaded &&
                    ((inactive && streq(u->active, "inactive")) || (failed && streq(u->active, "failed"))))
                        append_row(f, reply, u);
        }
        must(sd_bus_message_close_container(reply));
        say(f, reply);
}

static void do_list_by_names(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);
        const char *name;

        must(sd_bus_message_enter_container(call, 'a', "s"));
        must(sd_bus_message_open_container(reply, 'a', "(ssssssouso)"));
        while (sd_bus_message_read(call, "s", &name) > 0) {
                FakeUnit *u = unit_get(f, name);

                load(f, u);
                append_row(f, reply, u);
        }
        must(sd_bus_message_close_container(reply));
        say(f, reply);
        must(sd_bus_message_rewind(call, true));
        must(sd_bus_message_enter_container(call, 'a', "s"));
        while (sd_bus_message_read(call, "s", &name) > 0)
                collect(f, unit_get(f, name));
}

static void do_get_unit(FakeSystemd *f, sd_bus_message *call, bool loads) {
        _cleanup_free_ char *path = NULL;
        sd_bus_message *reply;
        const char *name;
        FakeUnit *u;

        must(sd_bus_message_read(call, "s", &name));
        u = unit_get(f, name);
        if (!loads && !u->loaded) {
                reply_error(f, call, NAME ".NoSuchUnit", "Unit %s not loaded.", name);
                return;
        }
        load(f, u);
        path = unit_path(name);
        reply = reply_new(call);
        must(sd_bus_message_append(reply, "o", path));
        say(f, reply);
        collect(f, u);
}

static void cancel_job(FakeSystemd *f, FakeUnit *u) {
        if (u->job)
                job_end(f, u, "canceled");
}

static void do_job(FakeSystemd *f, sd_bus_message *call, const char *type) {
        sd_bus_message *reply;
        const char *name;
        char path[64];
        FakeUnit *u;

        must(sd_bus_message_read(call, "s", &name));
        u = unit_get(f, name);
        load(f, u);
        if (streq(type, "stop") ? streq(load_word(f, u), "not-found") && streq(u->active, "inactive")
                                : !streq(load_word(f, u), "loaded") && !streq(u->active, "active")) {
                bool missing = streq(load_word(f, u), "not-found");

                reply_error(f, call, missing ? NAME ".NoSuchUnit" : NAME ".BadUnitSetting",
                            missing ? "Unit %s not found." : "Unit %s has a bad unit file setting.", name);
                collect(f, u);
                return;
        }
        if (u->behaviour == FAKE_REFUSES && !streq(type, "stop")) {
                _cleanup_free_ char *long_name = calloc(1, strlen(name) + f->complaint_bytes + 1);

                memset(strcpy(long_name, name) + strlen(name), 'x', f->complaint_bytes);
                reply_error(f, call, NAME ".OnlyByDependency",
                            "Operation refused, unit %s may be requested by dependency only.", long_name);
                collect(f, u);
                return;
        }
        cancel_job(f, u);
        u->job = ++f->last_job;
        f->n_jobs++;
        f->jobs_peak = MAX_OF(f->jobs_peak, f->n_jobs);
        snprintf(u->job_type, sizeof(u->job_type), "%s", type);
        emit_job(f, u->job, name, "JobNew", NULL);
        snprintf(path, sizeof(path), PATH "/job/%u", u->job);
        reply = reply_new(call);
        must(sd_bus_message_append(reply, "o", path));
        if (f->early)
                run_job(f, u);
        say(f, reply);
        if (!f->early)
                run_job(f, u);
}

static void do_reset_failed(FakeSystemd *f, sd_bus_message *call) {
        const char *name;
        FakeUnit *u;

        must(sd_bus_message_read(call, "s", &name));
        u = unit_get(f, name);
        if (!u->loaded) {
                reply_error(f, call, NAME ".NoSuchUnit", "Unit %s not loaded.", name);
                return;
        }
        if (streq(u->active, "failed"))
                change(f, u, "inactive", "dead", NULL);
        say(f, reply_new(call));
        collect(f, u);
}

static void do_reload(FakeSystemd *f, sd_bus_message *call) {
        fake_systemd_reload_begin(f);
        fake_systemd_reload_end(f);
        say(f, reply_new(call));
}

static void append_bytes_variant(sd_bus_message *reply, const uint8_t bytes[16]) {
        must(sd_bus_message_open_container(reply, 'v', "ay"));
        must(sd_bus_message_append_array(reply, 'y', bytes, 16));
        must(sd_bus_message_close_container(reply));
}

static void do_get(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);
        const char *property;
        _cleanup_free_ char *name = NULL;
        FakeUnit *u = NULL;

        must(sd_bus_message_read(call, "ss", NULL, &property));
        if (sd_bus_path_decode(sd_bus_message_get_path(call), PATH "/unit", &name) > 0) {
                u = unit_get(f, name);
                load(f, u);
        }
        if (streq(property, "SystemState"))
                must(sd_bus_message_append(reply, "v", "s", f->stopping ? "stopping" : "running"));
        else if (u && streq(property, "InvocationID"))
                append_bytes_variant(reply, u->invocation);
        else if (u && streq(property, "InactiveEnterTimestamp"))
                must(sd_bus_message_append(reply, "v", "t", u->since_us));
        else if (u && streq(property, "StateChangeTimestamp"))
                must(sd_bus_message_append(reply, "v", "t", u->changed_us));
        else if (u && streq(property, "NeedDaemonReload"))
                must(sd_bus_message_append(reply, "v", "b", u->file != file_of(f, u->name)));
        else if (u && streq(property, "Result"))
                must(sd_bus_message_append(reply, "v", "s", u->result));
        else if (u && streq(property, "ControlGroup"))
                must(sd_bus_message_append(reply, "v", "s",
                                           streq(u->active, "active") ? "/system.slice/it" : ""));
        else if (u && streq(property, "LoadError")) {
                bool bad = streq(load_word(f, u), "bad-setting");

                must(sd_bus_message_append(reply, "v", "(ss)", bad ? NAME ".BadUnitSetting" : "",
                                           bad ? "Unit has a bad unit file setting." : ""));
        } else {
                sd_bus_message_unref(reply);
                reply_error(f, call, "org.freedesktop.DBus.Error.UnknownProperty", "Unknown property %s",
                            property);
                reply = NULL;
        }
        if (reply)
                say(f, reply);
        if (u)
                collect(f, u);
}

static void do_get_all(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);
        _cleanup_free_ char *name = NULL;
        FakeUnit *u;

        if (sd_bus_path_decode(sd_bus_message_get_path(call), PATH "/unit", &name) <= 0)
                abort();
        u = unit_get(f, name);
        load(f, u);
        must(sd_bus_message_open_container(reply, 'a', "{sv}"));
        must(sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}", "Id", "s", u->name, "ActiveState", "s",
                                   u->active, "LoadState", "s", load_word(f, u), "SubState", "s", u->sub,
                                   "Result", "s", u->result));
        must(sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}", "MainPID", "u", 4711, "MemoryCurrent", "t",
                                   UINT64_MAX, "ActiveEnterTimestamp", "t", UINT64_C(0), "TimeoutStartUSec",
                                   "t", UINT64_C(90000000), "NeedDaemonReload", "b", 0));
        must(sd_bus_message_append(reply, "{sv}{sv}{sv}", "After", "as", 2, "a.target", "b.target",
                                   "LoadError", "(ss)", "", "", "LimitNOFILE", "t", UINT64_MAX));
        must(sd_bus_message_open_container(reply, 'e', "sv"));
        must(sd_bus_message_append(reply, "s", "InvocationID"));
        append_bytes_variant(reply, u->invocation);
        must(sd_bus_message_close_container(reply));
        must(sd_bus_message_close_container(reply));
        say(f, reply);
        collect(f, u);
}

static void count(FakeSystemd *f, const char *member) {
        Count *c = map_find_str(&f->counts, member);

        if (!c) {
                c = calloc(1, sizeof(*c));
                if (!c)
                        abort();
                snprintf(c->member, sizeof(c->member), "%s", member);
                must(map_add_str(&f->counts, c->member, c));
        }
        c->n++;
}

static int on_message(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        FakeSystemd *f = userdata;
        const char *member = sd_bus_message_get_member(call);
        uint8_t type;

        must(sd_bus_message_get_type(call, &type));
        if (type != SD_BUS_MESSAGE_METHOD_CALL || f->cut)
                return 1;
        count(f, member);
        if (streq(member, "Subscribe"))
                say(f, reply_new(call));
        else if (streq(member, "ListUnits"))
                do_list_units(f, call);
        else if (streq(member, "ListUnitsFiltered"))
                do_list_filtered(f, call);
        else if (streq(member, "ListUnitsByNames"))
                do_list_by_names(f, call);
        else if (streq(member, "GetUnit") || streq(member, "LoadUnit"))
                do_get_unit(f, call, streq(member, "LoadUnit"));
        else if (streq(member, "StartUnit"))
                do_job(f, call, "start");
        else if (streq(member, "StopUnit"))
                do_job(f, call, "stop");
        else if (streq(member, "RestartUnit"))
                do_job(f, call, "restart");
        else if (streq(member, "ResetFailedUnit"))
                do_reset_failed(f, call);
        else if (streq(member, "Reload"))
                do_reload(f, call);
        else if (streq(member, "Get"))
                do_get(f, call);
        else if (streq(member, "GetAll"))
                do_get_all(f, call);
        else
                reply_error(f, call, "org.freedesktop.DBus.Error.UnknownMethod", "Unknown method %s",
                            member);
        return 1;
}

// ---- what the test does

int fake_systemd_open(void *fake) {
        FakeSystemd *f = fake;
        sd_id128_t id = {.bytes = {1}};
        int fds[2];

        if (f->refuse)
                return -ECONNREFUSED;
        drop(f);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -errno;
        must(sd_bus_new(&f->bus));
        must(sd_bus_set_fd(f->bus, fds[1], fds[1]));
        must(sd_bus_set_server(f->bus, true, id));
        must(sd_bus_set_trusted(f->bus, true));
        must(sd_bus_add_filter(f->bus, NULL, on_message, f));
        must(sd_bus_start(f->bus));
        f->poll = calloc(1, sizeof(*f->poll));
        if (!f->poll)
                abort();
        must(uv_poll_init(f->loop, f->poll, fds[1]));
        f->poll->data = f;
        uv_unref((uv_handle_t *) f->poll);
        f->n_handles++;
        return fds[0];
}

FakeSystemd *fake_systemd_new(uv_loop_t *loop, const char *dir) {
        FakeSystemd *f = calloc(1, sizeof(*f));

        if (!f)
                abort();
        f->loop = loop;
        f->dir = dir ? strdup(dir) : NULL;
        f->cut_after = -1;
        list_init(&f->waiting);
        uv_prepare_init(loop, &f->prepare);
        uv_idle_init(loop, &f->again);
        f->prepare.data = f->again.data = f;
        f->n_handles = 2;
        uv_prepare_start(&f->prepare, on_prepare);
        uv_unref((uv_handle_t *) &f->prepare);
        uv_unref((uv_handle_t *) &f->again);
        return f;
}

static void on_handle_closed(uv_handle_t *h) {
        FakeSystemd *f = h->data;

        f->n_handles--;
}

void fake_systemd_free(FakeSystemd *f) {
        drop(f);
        uv_close((uv_handle_t *) &f->prepare, on_handle_closed);
        uv_close((uv_handle_t *) &f->again, on_handle_closed);
        while (f->n_handles > 0)
                uv_run(f->loop, UV_RUN_NOWAIT);
        map_done_with(&f->units, free);
        map_done_with(&f->counts, free);
        free(f->dir);
        free(f->cgroups);
        free(f);
}

void fake_systemd_behave(FakeSystemd *f, const char *name, FakeBehaviour behaviour) {
        unit_get(f, name)->behaviour = behaviour;
}

void fake_systemd_add(FakeSystemd *f, const char *name, FakeBehaviour behaviour) {
        fake_systemd_behave(f, name, behaviour);
        unit_get(f, name)->exists = true;
}

void fake_systemd_remove(FakeSystemd *f, const char *name) {
        unit_get(f, name)->exists = false;
}

void fake_systemd_pin(FakeSystemd *f, const char *name, bool pinned) {
        FakeUnit *u = unit_get(f, name);

        u->pinned = pinned;
        if (pinned)
                load(f, u);
        else
                collect(f, u);
}

void fake_systemd_set(FakeSystemd *f, const char *name, const char *active, const char *sub,
                      const char *result) {
        FakeUnit *u = unit_get(f, name);

        load(f, u);
        change(f, u, active, sub, result);
        collect(f, u);
}

const char *fake_systemd_active(FakeSystemd *f, const char *name) {
        const FakeUnit *u = unit_get(f, name);

        return u->loaded ? u->active : NULL;
}

FakeState fake_systemd_state(FakeSystemd *f, const char *name) {
        const FakeUnit *u = unit_get(f, name);

        return (FakeState){u->loaded, u->active, u->sub, u->result, u->invocation};
}

bool fake_systemd_is_current(FakeSystemd *f, const char *name) {
        return unit_get(f, name)->file == file_of(f, name);
}

bool fake_systemd_has_job(FakeSystemd *f, const char *name) {
        return unit_get(f, name)->job > 0;
}

void fake_systemd_lose_signals(FakeSystemd *f, bool lose) {
        f->lose = lose;
}

void fake_systemd_drop(FakeSystemd *f, bool drop) {
        f->drop = drop;
}

void fake_systemd_busy(FakeSystemd *f, bool busy) {
        f->busy = busy;
        while (!busy && !list_is_empty(&f->waiting))
                emit_waiting(f, CONTAINER_OF(f->waiting.next, FakeUnit, waiting));
}

void fake_systemd_fate(FakeSystemd *f, uint64_t seed, FakeFate fate) {
        while (f->n_late > 0)
                say_late(f);
        f->fate_seed = seed;
        f->fate = fate;
}

void fake_systemd_cgroups(FakeSystemd *f, const char *root) {
        f->cgroups = strdup(root);
}

void fake_systemd_only_jobs(FakeSystemd *f, bool only) {
        f->only_jobs = only;
}

void fake_systemd_job_first(FakeSystemd *f, bool first) {
        f->job_first = first;
}

void fake_systemd_end_before_reply(FakeSystemd *f, bool early) {
        f->early = early;
}

void fake_systemd_mute(FakeSystemd *f, bool mute) {
        f->mute = mute;
}

void fake_systemd_stall(FakeSystemd *f, bool stall) {
        f->stall = stall;
}

void fake_systemd_cut(FakeSystemd *f) {
        drop(f);
}

void fake_systemd_say_long(FakeSystemd *f, size_t bytes) {
        sd_bus_message *m = signal_new(f, PATH, NAME ".Manager", "Long");
        char *text;

        if (!m)
                return;
        must(sd_bus_message_append_string_space(m, bytes, &text));
        memset(text, 'x', bytes);
        tell(f, m);
}

void fake_systemd_cut_after(FakeSystemd *f, int n_messages) {
        f->cut_after = n_messages;
}

void fake_systemd_complain_long(FakeSystemd *f, size_t bytes) {
        f->complaint_bytes = bytes;
}

void fake_systemd_refuse(FakeSystemd *f, bool refuse) {
        f->refuse = refuse;
}

static void emit_all(FakeSystemd *f, const char *member) {
        map_foreach (slot, &f->units) {
                FakeUnit *u = slot->value;

                if (u->loaded && streq(member, "UnitNew"))
                        emit_new(f, u);
                else if (u->loaded)
                        emit_removed(f, u);
        }
}

void fake_systemd_reload_begin(FakeSystemd *f) {
        emit_reloading(f, true);
        emit_all(f, "UnitRemoved");
}

void fake_systemd_reload_end(FakeSystemd *f) {
        map_foreach (slot, &f->units) {
                FakeUnit *u = slot->value;

                u->file = file_of(f, u->name);
        }
        emit_all(f, "UnitNew");
        emit_reloading(f, false);
}

void fake_systemd_files_changed(FakeSystemd *f) {
        sd_bus_message *m = signal_new(f, PATH, NAME ".Manager", "UnitFilesChanged");

        if (m)
                say(f, m);
}

void fake_systemd_reexec(FakeSystemd *f) {
        fake_systemd_reload_begin(f);
        if (f->bus)
                sd_bus_flush(f->bus);
        drop(f);
}

void fake_systemd_shutdown(FakeSystemd *f) {
        f->stopping = true;
        emit_job(f, ++f->last_job, "shutdown.target", "JobNew", NULL);
}

void fake_systemd_cancel_shutdown(FakeSystemd *f) {
        f->stopping = false;
        emit_job(f, f->last_job, "shutdown.target", "JobRemoved", "canceled");
}

unsigned fake_systemd_calls(FakeSystemd *f, const char *member) {
        const Count *c = map_find_str(&f->counts, member);

        return c ? c->n : 0;
}

unsigned fake_systemd_jobs_peak(FakeSystemd *f) {
        return f->jobs_peak;
}
