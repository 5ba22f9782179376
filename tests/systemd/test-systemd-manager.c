// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The manager, the unit directory and a real systemd (see with-manager). Each test begins with an empty unit
// directory of ours; what somebody else does is done with systemctl.

#include "loop.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "str.h"
#include "systemd-manager.h"
#include "unit-dir.h"
#include "unit-state.h"
#include "watch-unit.h"

static SystemdManager *manager;
static UnitDir *units;
static char *dir_path, *socket_path;
static bool closed, stopping;
static unsigned n_synced, n_reloaded, n_disconnected, n_unloaded;

typedef struct Ended {
        unsigned n;
        SystemdJobResult result;
        Argosy__ActiveState active; // of the unit when it was told
        char error[256];
} Ended;

typedef struct Loaded {
        unsigned n;
        Argosy__LoadState load;
        char error[256];
} Loaded;

static void on_changed(const char *name, const UnitRuntime *now, void *userdata) {
}

static void on_unloaded(const char *name, void *userdata) {
        n_unloaded++;
}

static void on_reloaded(uint64_t since_us, void *userdata) {
        n_reloaded++;
}

static void on_synced(void *userdata) {
        n_synced++;
}

static void on_disconnected(const char *why, void *userdata) {
        n_disconnected++;
}

static void on_stopping(void *userdata) {
        stopping = true;
}

static void on_closed(void *userdata) {
        closed = true;
}

static void systemctl(const char *arguments) {
        _cleanup_free_ char *command = str_printf("systemctl --user -q %s", arguments);

        assert_int_equal(system(command), 0);
}

static int set_up(void **state) {
        static const SystemdOps ops = {
                .unit_changed = on_changed,
                .unit_unloaded = on_unloaded,
                .reloaded = on_reloaded,
                .synced = on_synced,
                .disconnected = on_disconnected,
                .stopping = on_stopping,
        };
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        SystemdConfig config;

        assert_non_null(runtime);
        dir_path = str_printf("%s/systemd/user", runtime);
        socket_path = str_printf("%s/systemd/private", runtime);
        n_synced = n_reloaded = n_disconnected = n_unloaded = 0;
        closed = stopping = false;
        assert_int_equal(loop_setup(state), 0);
        assert_int_equal(dir_empty(AT_FDCWD, dir_path), 0);
        assert_int_equal(unit_dir_new(dir_path, (const char *const[]){NULL}, &units), 0);
        config = (SystemdConfig){.loop = &test_loop, .socket_path = socket_path};
        assert_int_equal(systemd_manager_new(&config, &ops, NULL, &manager), 0);
        loop_until(n_synced == 1);
        return 0;
}

static int tear_down(void **state) {
        if (!stopping) {
                systemctl("stop '*.service'");
                systemctl("reset-failed");
        }
        unwatch_all_units(manager);
        systemd_manager_close(manager, on_closed, NULL);
        loop_until(closed);
        units = unit_dir_free(units);
        free(dir_path);
        free(socket_path);
        return loop_teardown(state);
}

// ---- words for the stories

static void write_unit(const char *name, bool from_template, const char *content, const char *slice) {
        UnitDirItem item = {
                .name = name,
                .from_template = from_template,
                .content = content,
                .len = strlen(content),
                .spec = hash_of(content, strlen(content)),
                .slice = slice,
        };

        unit_dir_apply(units, &item, 1);
        assert_int_equal(item.error, 0);
        assert_int_equal(watch_unit(manager, name), 0);
}

static void remove_unit(const char *name) {
        UnitDirItem item = {.name = name, .remove = true};

        unit_dir_apply(units, &item, 1);
        assert_int_equal(item.error, 0);
        unwatch_unit(manager, name);
}

static const UnitRuntime *unit(const char *name) {
        const UnitRuntime *rt = watched_unit(manager, name);

        assert_non_null(rt);
        return rt;
}

static bool is(const char *name, const char *active) {
        return streq(active_state_to_string(unit(name)->active), active);
}

static void on_job(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                   void *userdata) {
        Ended *e = userdata;

        e->n++;
        e->result = result;
        e->active = unit(name)->active;
        snprintf(e->error, sizeof(e->error), "%s", error);
}

static Ended run(SystemdJobKind kind, const char *name) {
        Ended e = {};

        assert_int_equal(systemd_manager_job(manager, kind, name, on_job, &e), 0);
        loop_until(e.n > 0);
        return e;
}

static void run_well(SystemdJobKind kind, const char *name) {
        Ended e = run(kind, name);

        if (e.result != SYSTEMD_JOB_DONE)
                fail_msg("job of %s: %s", name, e.error);
}

static void on_loaded(const char *name, Argosy__LoadState load, const char *error, void *userdata) {
        Loaded *l = userdata;

        l->n++;
        l->load = load;
        snprintf(l->error, sizeof(l->error), "%s", error);
}

static Loaded load(const char *name) {
        Loaded l = {};

        assert_int_equal(systemd_manager_load(manager, &name, 1, on_loaded, &l), 0);
        loop_until(l.n > 0);
        return l;
}

typedef struct Wanted {
        const char *key;
        char value[512];
        bool answered;
} Wanted;

static void on_inspected(int error, Argosy__Response__Property *const *properties, size_t n,
                         void *userdata) {
        Wanted *w = userdata;

        assert_int_equal(error, 0);
        for (size_t i = 0; i < n; i++)
                if (streq(properties[i]->key, w->key))
                        snprintf(w->value, sizeof(w->value), "%s", properties[i]->value);
        w->answered = true;
}

static Wanted property(const char *name, const char *key) {
        Wanted w = {.key = key};

        assert_int_equal(systemd_manager_inspect(manager, name, on_inspected, &w), 0);
        loop_until(w.answered);
        return w;
}

static pid_t main_pid(const char *name) {
        return atoi(property(name, "MainPID").value);
}

// Systemd hears of the exec a moment before the kernel has put the new arguments in place: until then there
// are none.
static void assert_command(const char *name, const char *argument) {
        _cleanup_free_ char *path = str_printf("/proc/%d/cmdline", main_pid(name));
        _cleanup_buf_ Buf b = {};

        do
                assert_int_equal(file_read(AT_FDCWD, path, 4096, &b), 0);
        while (b.len == 0 && sched_yield() == 0);
        if (!memmem(b.data, b.len, argument, strlen(argument)))
                fail_msg("%s does not run with %s", name, argument);
}

// Type=exec: started means that the process runs the command already.
#define SLEEPS "[Service]\nType=exec\nExecStart=/bin/sleep 1001\n"
#define SLEEPS_LONGER "[Service]\nType=exec\nExecStart=/bin/sleep 2002\n"

// ---- the stories

static void a_new_file_is_started_without_a_reload(void **state) {
        write_unit("a.service", false, SLEEPS, "argosy-01.slice");
        run_well(SYSTEMD_START, "a.service");
        assert_true(is("a.service", "active"));
        assert_int_equal(unit("a.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        assert_string_equal(property("a.service", "Slice").value, "argosy-01.slice");
        assert_non_null(strstr(property("a.service", "After").value, "argosy.target"));
        assert_string_equal(property("a.service", "NeedDaemonReload").value, "no");
        run_well(SYSTEMD_STOP, "a.service");
        assert_true(is("a.service", "inactive"));
        loop_until(!unit("a.service")->loaded);
        assert_int_equal(n_reloaded, 0);
}

// Within one tick of the clock the directory's time would not change by itself.
static void batches_within_one_tick_are_all_found(void **state) {
        char name[32];

        for (int i = 0; i < 40; i++) {
                snprintf(name, sizeof(name), "t%d.service", i);
                write_unit(name, false, SLEEPS, i % 2 ? "argosy-01.slice" : NULL);
                assert_int_equal(load(name).load, ARGOSY__LOAD_STATE__LOAD_LOADED);
                if (i % 2)
                        assert_string_equal(property(name, "Slice").value, "argosy-01.slice");
        }
}

static void a_oneshot_ends_when_it_has_finished(void **state) {
        Ended e;

        write_unit("good.service", false, "[Service]\nType=oneshot\nExecStart=/bin/sleep 0.3\n", NULL);
        write_unit("bad.service", false, "[Service]\nType=oneshot\nExecStart=/bin/false\n", NULL);
        e = run(SYSTEMD_START, "good.service");
        assert_int_equal(e.result, SYSTEMD_JOB_DONE);
        assert_int_equal(e.active, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_true(unit("good.service")->invocation_id[0] || unit("good.service")->invocation_id[1]);
        e = run(SYSTEMD_START, "bad.service");
        assert_int_equal(e.result, SYSTEMD_JOB_FAILED);
        assert_int_equal(e.active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_string_equal(unit("bad.service")->result, "exit-code");
        run_well(SYSTEMD_RESET_FAILED, "bad.service");
        loop_until(is("bad.service", "inactive"));
}

static void a_start_whose_condition_does_not_hold_is_done(void **state) {
        write_unit("c.service", false, "[Unit]\nConditionPathExists=/nowhere\n" SLEEPS, NULL);
        run_well(SYSTEMD_START, "c.service");
        assert_true(is("c.service", "inactive"));
}

static void a_masked_unit_is_refused(void **state) {
        systemctl("mask --runtime m.service");
        assert_int_equal(watch_unit(manager, "m.service"), 0);
        assert_int_equal(load("m.service").load, ARGOSY__LOAD_STATE__LOAD_MASKED);
        assert_int_equal(run(SYSTEMD_START, "m.service").result, SYSTEMD_JOB_REFUSED);
        systemctl("unmask --runtime m.service");
}

// The start went well, the unit has ended: the one who is told must see both, however the signals came.
static void a_unit_that_ends_at_once_is_seen_ended(void **state) {
        for (int i = 0; i < 30; i++) {
                char name[32];

                snprintf(name, sizeof(name), "e%d.service", i);
                write_unit(name, false,
                           i % 2 ? "[Service]\nExecStart=/bin/true\n" : "[Service]\nExecStart=/bin/false\n",
                           NULL);
                run_well(SYSTEMD_START, name);
                loop_until(is(name, i % 2 ? "inactive" : "failed"));
        }
        systemctl("reset-failed");
}

static void many_starts_end_in_a_true_state(void **state) {
        enum { N = 100 };
        static char names[N][32];
        UnitDirItem items[N];
        Ended ended[N] = {};
        unsigned n;

        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "m@%d.service", i);
                items[i] = (UnitDirItem){
                        .name = names[i],
                        .from_template = true,
                        .content = SLEEPS,
                        .len = strlen(SLEEPS),
                        .spec = hash_of(SLEEPS, strlen(SLEEPS)),
                        .slice = i % 2 ? "argosy-01.slice" : "argosy-02.slice",
                };
        }
        unit_dir_apply(units, items, N);
        for (int i = 0; i < N; i++) {
                assert_int_equal(items[i].error, 0);
                watch_unit(manager, names[i]);
                assert_int_equal(systemd_manager_job(manager, SYSTEMD_START, names[i], on_job, &ended[i]),
                                 0);
        }
        loop_until((n = 0, ({
                            for (int i = 0; i < N; i++)
                                    n += ended[i].n;
                    }),
                    n) == N);
        for (int i = 0; i < N; i++) {
                assert_int_equal(ended[i].result, SYSTEMD_JOB_DONE);
                assert_int_equal(ended[i].active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
                ended[i].n = 0;
                assert_int_equal(systemd_manager_job(manager, SYSTEMD_STOP, names[i], on_job, &ended[i]), 0);
        }
        loop_until((n = 0, ({
                            for (int i = 0; i < N; i++)
                                    n += ended[i].n;
                    }),
                    n) == N);
        for (int i = 0; i < N; i++) {
                assert_int_equal(ended[i].result, SYSTEMD_JOB_DONE);
                assert_int_equal(ended[i].active, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        }
}

static void errors_carry_systemds_words(void **state) {
        Ended e;
        Loaded l;

        write_unit("bad.service", false, "[Service]\nExecStart=not-a-path/x\n", NULL);
        l = load("bad.service");
        assert_int_equal(l.load, ARGOSY__LOAD_STATE__LOAD_BAD_SETTING);
        assert_string_equal(l.error, "Unit bad.service has a bad unit file setting.");
        e = run(SYSTEMD_START, "bad.service");
        assert_int_equal(e.result, SYSTEMD_JOB_REFUSED);
        assert_true(strlen(e.error) > 0);
        l = load("absent.service");
        assert_int_equal(l.load, ARGOSY__LOAD_STATE__LOAD_NOT_FOUND);
        assert_string_equal(l.error, "Unit absent.service not found.");
        assert_int_equal(watch_unit(manager, "absent.service"), 0);
        assert_int_equal(run(SYSTEMD_STOP, "absent.service").result, SYSTEMD_JOB_DONE);
        assert_int_equal(run(SYSTEMD_RESET_FAILED, "absent.service").result, SYSTEMD_JOB_DONE);
}

static void changed_content_is_taken_up_by_stop_and_start(void **state) {
        write_unit("a.service", false, SLEEPS, NULL);
        run_well(SYSTEMD_START, "a.service");
        write_unit("a.service", false, SLEEPS_LONGER, NULL);
        assert_string_equal(property("a.service", "NeedDaemonReload").value, "yes");
        run_well(SYSTEMD_STOP, "a.service");
        loop_until(!unit("a.service")->loaded);
        run_well(SYSTEMD_START, "a.service");
        assert_command("a.service", "2002");
}

// web@1 gets a new revision; web@2 keeps the old one although everything is reloaded and it is restarted.
static void two_revisions_of_a_template_live_side_by_side(void **state) {
        write_unit("web@1.service", true, SLEEPS, "argosy-01.slice");
        write_unit("web@2.service", true, SLEEPS, "argosy-01.slice");
        run_well(SYSTEMD_START, "web@1.service");
        run_well(SYSTEMD_START, "web@2.service");
        run_well(SYSTEMD_STOP, "web@1.service");
        loop_until(!unit("web@1.service")->loaded);
        write_unit("web@1.service", true, SLEEPS_LONGER, "argosy-01.slice");
        run_well(SYSTEMD_START, "web@1.service");
        assert_command("web@1.service", "2002");
        assert_command("web@2.service", "1001");
        systemctl("daemon-reload");
        run_well(SYSTEMD_RESTART, "web@2.service");
        assert_command("web@2.service", "1001");
        assert_string_equal(property("web@2.service", "Slice").value, "argosy-01.slice");
}

static void what_others_do_is_seen(void **state) {
        write_unit("a.service", false, SLEEPS, NULL);
        run_well(SYSTEMD_START, "a.service");
        systemctl("stop a.service");
        loop_until(is("a.service", "inactive"));
        systemctl("start a.service");
        loop_until(is("a.service", "active"));
        assert_int_equal(kill(main_pid("a.service"), SIGKILL), 0);
        loop_until(is("a.service", "failed"));
        assert_string_equal(unit("a.service")->result, "signal");
        systemctl("reset-failed a.service");
        loop_until(is("a.service", "inactive"));
}

static void on_reload_done(int error, void *userdata) {
        assert_int_equal(error, 0);
        (*(unsigned *) userdata)++;
}

static void a_reload_changes_no_state(void **state) {
        unsigned n = 0;

        write_unit("a.service", false, SLEEPS, NULL);
        run_well(SYSTEMD_START, "a.service");
        systemctl("daemon-reload");
        loop_until(n_reloaded == 1);
        assert_true(is("a.service", "active"));
        assert_int_equal(systemd_manager_reload(manager, on_reload_done, &n), 0);
        assert_int_equal(systemd_manager_reload(manager, on_reload_done, &n), 0);
        loop_until(n == 2);
        assert_int_equal(n_reloaded, 2);
        assert_int_equal(n_unloaded, 0);
        assert_true(is("a.service", "active"));
}

// ---- the long form (ARGOSY_LONG=1): half a minute

enum { FLOOD_ROUNDS = 60, FLOOD_NAMES = 10000 };

// Two signals for each name, and nobody reads.
static void flood(void) {
        _cleanup_free_ char *address = str_printf("unix:path=%s", socket_path);
        sd_bus_message *call;
        sd_bus *bus;
        int r;

        assert_true(sd_bus_new(&bus) >= 0 && sd_bus_set_address(bus, address) >= 0 &&
                    sd_bus_start(bus) >= 0);
        for (int round = 0; round < FLOOD_ROUNDS; round++) {
                assert_true(sd_bus_message_new_method_call(
                                    bus, &call, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                                    "org.freedesktop.systemd1.Manager", "ListUnitsByNames") >= 0);
                assert_true(sd_bus_message_open_container(call, 'a', "s") >= 0);
                for (int i = 0; i < FLOOD_NAMES; i++) {
                        char name[32];

                        snprintf(name, sizeof(name), "none%i.target", i);
                        assert_true(sd_bus_message_append(call, "s", name) >= 0);
                }
                assert_true(sd_bus_message_close_container(call) >= 0);
                r = sd_bus_call(bus, call, UINT64_MAX, NULL, NULL);
                if (r < 0 && r != -ENOBUFS)
                        fail_msg("round %i: %s", round, strerror(-r));
                sd_bus_message_unref(call);
                if (r < 0) // nothing more fits: others feel it, too
                        break;
                usleep(100 * 1000); // they are dropped from memory when nothing else is to be done
        }
        sd_bus_close_unref(bus);
}

// systemd keeps some 390,000 messages for one that does not read, then drops what comes, and others feel it.
// Reading all that would take minutes; beginning anew takes none.
static void what_systemd_drops_is_noticed(void **state) {
        SystemdStats stats;
        pid_t pid;

        if (!getenv("ARGOSY_LONG"))
                skip();
        write_unit("a.service", false, SLEEPS, NULL);
        write_unit("b.service", false, SLEEPS, NULL);
        run_well(SYSTEMD_START, "a.service");
        run_well(SYSTEMD_START, "b.service");
        pid = main_pid("b.service");
        flood();
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_true(is("b.service", "active")); // nothing was read
        loop_until(n_synced > 1);
        loop_until(is("b.service", "failed") && is("a.service", "active"));
        systemd_manager_stats(manager, &stats);
        assert_int_equal(stats.losses, 1);
        run_well(SYSTEMD_RESET_FAILED, "b.service");
        run_well(SYSTEMD_START, "b.service");
}

// The manager is replaced under a job that runs: the job goes on, the connection comes back, nothing is
// stopped.
static void a_reexec_loses_nothing(void **state) {
        Ended long_job = {};
        uint8_t run_before[16];
        pid_t pid;

        write_unit("up.service", false, SLEEPS, NULL);
        write_unit("dies.service", false, SLEEPS, NULL);
        write_unit(
                "long.service", false,
                "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'until [ -e %t/go ]; do sleep 0.05; done'\n",
                NULL);
        run_well(SYSTEMD_START, "up.service");
        run_well(SYSTEMD_START, "dies.service");
        memcpy(run_before, unit("up.service")->invocation_id, 16);
        pid = main_pid("dies.service");
        assert_int_equal(systemd_manager_job(manager, SYSTEMD_START, "long.service", on_job, &long_job), 0);
        loop_until(is("long.service", "activating"));
        systemctl("daemon-reexec");
        kill(pid, SIGKILL);
        loop_until(n_disconnected == 1 && systemd_manager_is_synced(manager));
        assert_int_equal(n_reloaded, 1);
        assert_true(is("up.service", "active"));
        assert_memory_equal(unit("up.service")->invocation_id, run_before, 16);
        loop_until(is("dies.service", "failed"));
        assert_int_equal(long_job.n, 0);
        assert_int_equal(system("touch $XDG_RUNTIME_DIR/go"), 0);
        loop_until(long_job.n == 1);
        assert_int_equal(long_job.result, SYSTEMD_JOB_DONE);
}

static void removed_units_leave_no_trace(void **state) {
        write_unit("a.service", false, SLEEPS, "argosy-01.slice");
        write_unit("w@1.service", true, SLEEPS, "argosy-01.slice");
        run_well(SYSTEMD_START, "a.service");
        run_well(SYSTEMD_STOP, "a.service");
        remove_unit("a.service");
        remove_unit("w@1.service");
        assert_int_equal(load("a.service").load, ARGOSY__LOAD_STATE__LOAD_NOT_FOUND);
        assert_int_equal(load("w@1.service").load, ARGOSY__LOAD_STATE__LOAD_NOT_FOUND);
}

// What a boot does: everything in one transaction, with the targets that sockets and paths come before. A
// cycle would cost one of them its job.
static void no_type_of_unit_closes_a_cycle(void **state) {
        static const char *const names[] = {
                "argosy.target", "s.socket",     "t.timer",        "p.path",       "g.target",
                "s.service",     "basic.target", "sockets.target", "paths.target", "timers.target",
        };

        write_unit("argosy.target", false, "[Unit]\nAfter=basic.target\n", NULL);
        write_unit("s.service", false, SLEEPS, "argosy-01.slice");
        write_unit("s.socket", false, "[Socket]\nListenStream=%t/s.sock\n", "argosy-01.slice");
        write_unit("t.timer", false, "[Timer]\nOnActiveSec=1h\nUnit=s.service\n", NULL);
        write_unit("p.path", false, "[Path]\nPathExists=/nowhere\nUnit=s.service\n", NULL);
        write_unit("g.target", false, "[Unit]\n", NULL);
        write_unit("all.target", false,
                   "[Unit]\nWants=argosy.target s.service s.socket t.timer p.path g.target basic.target "
                   "sockets.target\n"
                   "Wants=paths.target timers.target\n",
                   NULL);
        run_well(SYSTEMD_START, "all.target");
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                assert_int_equal(watch_unit(manager, names[i]), 0);
                loop_until(is(names[i], "active")); // a job that a cycle cost is never done
        }
        systemctl("stop all.target argosy.target s.socket t.timer p.path g.target s.service basic.target");
}

static void shutdown_is_told(void **state) {
        write_unit("a.service", false, SLEEPS, NULL);
        run_well(SYSTEMD_START, "a.service");
        systemctl("start --no-block exit.target");
        loop_until(stopping);
        assert_true(systemd_manager_is_stopping(manager));
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
                T(no_type_of_unit_closes_a_cycle), // the first: later ones have started basic.target
                T(a_new_file_is_started_without_a_reload),
                T(batches_within_one_tick_are_all_found),
                T(a_oneshot_ends_when_it_has_finished),
                T(a_start_whose_condition_does_not_hold_is_done),
                T(a_masked_unit_is_refused),
                T(a_unit_that_ends_at_once_is_seen_ended),
                T(many_starts_end_in_a_true_state),
                T(errors_carry_systemds_words),
                T(changed_content_is_taken_up_by_stop_and_start),
                T(two_revisions_of_a_template_live_side_by_side),
                T(what_others_do_is_seen),
                T(what_systemd_drops_is_noticed),
                T(a_reload_changes_no_state),
                T(a_reexec_loses_nothing),
                T(removed_units_leave_no_trace),
                T(shutdown_is_told), // the last: it ends the manager
#undef T
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
