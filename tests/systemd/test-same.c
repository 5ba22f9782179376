// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Three that call themselves systemd, one story: the real one beside which this runs (with-manager), the
// peer of fake-systemd.c behind the real SystemdManager, and the PID 1 of fake-pid1.c in the
// SystemdManager's place. What tests of the agent and of the connection believe of systemd rests on the two
// fakes, so this program is built three times, with the same calls and the same expectations:
//
//      SAME_REAL   the connection to XDG_RUNTIME_DIR's manager
//      SAME_BUS    the connection to a FakeSystemd
//      SAME_PID1   a FakePid1
//
// What a fake cannot know by itself (that a process ends) it is told by behave() and finish(), which do
// nothing for the real one.

#include "loop.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "fileio.h"
#include "str.h"
#include "systemd-manager.h"
#include "tmpdir.h"
#include "unit-dir.h"
#include "unit-state.h"
#include "watch-unit.h"

#ifdef SAME_BUS
#include "fake-systemd.h"
static FakeSystemd *fake;
#elif defined(SAME_PID1)
#include "fake-pid1.h"
static FakePid1 *fake;
#endif

#define RUNS "[Service]\nType=exec\nExecStart=/bin/sleep 1001\n"
#define RUNS_LONGER "[Service]\nType=exec\nExecStart=/bin/sleep 2002\n"
#define ENDS "[Service]\nType=oneshot\nExecStart=/bin/true\n"
#define FAILS "[Service]\nType=oneshot\nExecStart=/bin/false\n"
#define HANGS "[Service]\nType=oneshot\nExecStart=/bin/sleep 3003\n"
#define BROKEN "[Service]\nExecStart=not-a-path/[Broken\n"

static SystemdManager *manager;
static UnitDir *units;
static char *dir_path, *temporary;
static bool closed;
static unsigned n_synced;

// ---- the three worlds

static void on_changed(const char *name, const UnitRuntime *now, void *userdata) {
}

static void on_unloaded(const char *name, void *userdata) {
}

static void on_synced(void *userdata) {
        n_synced++;
}

static void on_disconnected(const char *why, void *userdata) {
        fail_msg("%s", why);
}

static void on_stopping(void *userdata) {
        fail_msg("it is shutting down");
}

static void on_closed(void *userdata) {
        closed = true;
}

static int set_up(void **state) {
        static const SystemdOps ops = {
                .unit_changed = on_changed,
                .unit_unloaded = on_unloaded,
                .synced = on_synced,
                .disconnected = on_disconnected,
                .stopping = on_stopping,
        };
        SystemdConfig config = {.loop = &test_loop};

        n_synced = 0;
        closed = false;
        assert_int_equal(loop_setup(state), 0);
        assert_int_equal(tmpdir_make((void **) &temporary), 0);
#ifdef SAME_REAL
        assert_non_null(getenv("XDG_RUNTIME_DIR"));
        dir_path = str_printf("%s/systemd/user", getenv("XDG_RUNTIME_DIR"));
        config.socket_path = str_printf("%s/systemd/private", getenv("XDG_RUNTIME_DIR"));
        assert_int_equal(dir_empty(AT_FDCWD, dir_path), 0);
#else
        dir_path = str_printf("%s/units", temporary);
        assert_int_equal(mkdir(dir_path, 0700), 0);
#endif
        assert_int_equal(unit_dir_new(dir_path, (const char *const[]){NULL}, &units), 0);
#ifdef SAME_BUS
        fake = fake_systemd_new(&test_loop, dir_path);
        config.open_socket = fake_systemd_open;
        config.open_userdata = fake;
#elif defined(SAME_PID1)
        fake = pid1_new(dir_path);
#endif
        assert_int_equal(systemd_manager_new(&config, &ops, NULL, &manager), 0);
        loop_until(n_synced == 1);
        free((char *) config.socket_path);
        return 0;
}

static int tear_down(void **state) {
#ifdef SAME_REAL
        (void) !system("systemctl --user -q stop '*.service'; systemctl --user -q reset-failed");
#endif
        unwatch_all_units(manager);
        systemd_manager_close(manager, on_closed, NULL);
        loop_until(closed);
#ifdef SAME_BUS
        fake_systemd_free(fake);
#elif defined(SAME_PID1)
        fake = pid1_free(fake);
#endif
        units = unit_dir_free(units);
        free(dir_path);
        assert_int_equal(tmpdir_drop((void **) &temporary), 0);
        return loop_teardown(state);
}

// ---- words for the stories

static void behave(const char *name, const char *content) {
#ifdef SAME_BUS
        fake_systemd_behave(fake, name,
                            streq(content, ENDS)     ? FAKE_ENDS
                            : streq(content, FAILS)  ? FAKE_FAILS
                            : streq(content, HANGS)  ? FAKE_HANGS
                            : streq(content, BROKEN) ? FAKE_BAD_SETTING
                                                     : FAKE_RUNS);
#endif
}

// A one-shot whose command ends by itself.
static void finish(const char *name) {
#ifdef SAME_PID1
        loop_until(pid1_runs(fake, name) > 0);
        pid1_finish(fake, name, true);
#endif
}

static void write_unit(const char *name, const char *content) {
        UnitDirItem item = {
                .name = name,
                .content = content,
                .len = strlen(content),
                .spec = hash_of(content, strlen(content)),
        };

        unit_dir_apply(units, &item, 1);
        assert_int_equal(item.error, 0);
        assert_int_equal(watch_unit(manager, name), 0);
        behave(name, content);
        loop_until(watched_unit(manager, name)->active != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN);
}

typedef struct Ended {
        bool ended;
        SystemdJobResult result;
        bool explained; // with a text
} Ended;

static void on_job(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                   void *userdata) {
        *(Ended *) userdata = (Ended){true, result, *error};
}

static void begin(SystemdJobKind kind, const char *name, Ended *e) {
        *e = (Ended){};
        assert_int_equal(systemd_manager_job(manager, kind, name, on_job, e), 0);
}

static Ended run(SystemdJobKind kind, const char *name) {
        Ended e;

        begin(kind, name, &e);
        loop_until(e.ended);
        return e;
}

static void assert_done(SystemdJobKind kind, const char *name) {
        assert_int_equal(run(kind, name).result, SYSTEMD_JOB_DONE);
}

static bool is(const char *name, const char *active) {
        return streq(active_state_to_string(watched_unit(manager, name)->active), active);
}

static bool is_loaded(const char *name) {
        return watched_unit(manager, name)->loaded;
}

static void keep_run(const char *name, uint8_t ret[static 16]) {
        memcpy(ret, watched_unit(manager, name)->invocation_id, 16);
}

static bool is_run(const char *name, const uint8_t run_id[static 16]) {
        return memcmp(watched_unit(manager, name)->invocation_id, run_id, 16) == 0;
}

typedef struct Loaded {
        bool answered, explained;
        Argosy__LoadState load;
} Loaded;

static void on_loaded(const char *name, Argosy__LoadState load, const char *error, void *userdata) {
        *(Loaded *) userdata = (Loaded){true, *error, load};
}

static Loaded load(const char *name) {
        Loaded l = {};

        assert_int_equal(systemd_manager_load(manager, &name, 1, on_loaded, &l), 0);
        loop_until(l.answered);
        return l;
}

static void on_outdated(int outdated, void *userdata) {
        *(int *) userdata = outdated;
}

static bool is_outdated(const char *name) {
        int answer = -1;

        assert_int_equal(systemd_manager_outdated(manager, name, on_outdated, &answer), 0);
        loop_until(answer >= 0);
        return answer;
}

static void on_reloaded(int error, void *userdata) {
        assert_int_equal(error, 0);
        *(bool *) userdata = true;
}

// ---- the stories

static void files_are_read_and_dropped_again(void **state) {
        Loaded l;

        write_unit("a.service", RUNS);
        write_unit("odd.service", BROKEN);
        l = load("a.service");
        assert_int_equal(l.load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        assert_false(l.explained);
        l = load("odd.service");
        assert_int_equal(l.load, ARGOSY__LOAD_STATE__LOAD_BAD_SETTING);
        assert_true(l.explained);
        assert_int_equal(load("absent.service").load, ARGOSY__LOAD_STATE__LOAD_NOT_FOUND);
        loop_until(!is_loaded("a.service") && !is_loaded("odd.service"));
        assert_true(is("a.service", "inactive"));
}

static void a_service_starts_restarts_and_stops(void **state) {
        uint8_t first[16];

        write_unit("a.service", RUNS);
        assert_done(SYSTEMD_START, "a.service");
        assert_true(is("a.service", "active") && is_loaded("a.service"));
        assert_string_equal(watched_unit(manager, "a.service")->sub, "running");
        assert_int_equal(watched_unit(manager, "a.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        keep_run("a.service", first);
        assert_done(SYSTEMD_START, "a.service"); // it runs
        assert_true(is_run("a.service", first));
        assert_done(SYSTEMD_RESTART, "a.service");
        loop_until(is("a.service", "active") && !is_run("a.service", first));
        assert_done(SYSTEMD_STOP, "a.service");
        loop_until(is("a.service", "inactive") && !is_loaded("a.service"));
        assert_done(SYSTEMD_STOP, "a.service"); // nothing to stop is well
}

static void what_cannot_start_says_why(void **state) {
        Ended e;

        write_unit("odd.service", BROKEN);
        assert_int_equal(watch_unit(manager, "absent.service"), 0);
        e = run(SYSTEMD_START, "absent.service");
        assert_int_equal(e.result, SYSTEMD_JOB_NO_UNIT);
        assert_true(e.explained);
        e = run(SYSTEMD_START, "odd.service");
        assert_int_equal(e.result, SYSTEMD_JOB_REFUSED);
        assert_true(e.explained);
        assert_done(SYSTEMD_STOP, "absent.service");
        assert_done(SYSTEMD_RESET_FAILED, "absent.service");
}

static void a_failed_unit_stays_failed_until_it_is_reset(void **state) {
        write_unit("bad.service", FAILS);
        assert_int_equal(run(SYSTEMD_START, "bad.service").result, SYSTEMD_JOB_FAILED);
        loop_until(is("bad.service", "failed"));
        assert_string_equal(watched_unit(manager, "bad.service")->result, "exit-code");
        assert_true(is_loaded("bad.service"));
        assert_done(SYSTEMD_STOP, "bad.service");
        assert_true(is("bad.service", "failed"));
        assert_done(SYSTEMD_RESET_FAILED, "bad.service");
        loop_until(is("bad.service", "inactive") && !is_loaded("bad.service"));
}

static void the_start_of_a_oneshot_ends_with_it(void **state) {
        Ended e;

        write_unit("good.service", ENDS);
        begin(SYSTEMD_START, "good.service", &e);
        finish("good.service");
        loop_until(e.ended);
        assert_int_equal(e.result, SYSTEMD_JOB_DONE);
        loop_until(is("good.service", "inactive") && !is_loaded("good.service"));
}

static void a_stop_ends_a_start_that_is_under_way(void **state) {
        Ended start;

        write_unit("slow.service", HANGS);
        begin(SYSTEMD_START, "slow.service", &start);
        loop_until(is("slow.service", "activating"));
#ifdef SAME_BUS
        {
                Ended stop;

                begin(SYSTEMD_STOP, "slow.service", &stop);
                loop_until(start.ended);
                fake_systemd_finish(fake, "slow.service", "done");
                loop_until(stop.ended);
                assert_int_equal(stop.result, SYSTEMD_JOB_DONE);
        }
#else
        assert_done(SYSTEMD_STOP, "slow.service");
#endif
        loop_until(start.ended);
        assert_int_equal(start.result, SYSTEMD_JOB_CANCELED);
        loop_until(is("slow.service", "inactive") || is("slow.service", "failed"));
}

// What runs is what was read; a stop and a start, or a reload, read again.
static void new_content_is_seen_when_it_is_read(void **state) {
        bool reloaded = false;

        write_unit("a.service", RUNS);
        assert_done(SYSTEMD_START, "a.service");
        assert_false(is_outdated("a.service"));
        write_unit("a.service", RUNS_LONGER);
        assert_true(is_outdated("a.service"));
        assert_done(SYSTEMD_STOP, "a.service");
        loop_until(!is_loaded("a.service"));
        assert_done(SYSTEMD_START, "a.service");
        assert_false(is_outdated("a.service"));
        write_unit("a.service", RUNS);
        assert_true(is_outdated("a.service"));
        assert_int_equal(systemd_manager_reload(manager, on_reloaded, &reloaded), 0);
        loop_until(reloaded);
        assert_false(is_outdated("a.service"));
        assert_true(is("a.service", "active"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(files_are_read_and_dropped_again),
                TEST(a_service_starts_restarts_and_stops),
                TEST(what_cannot_start_says_why),
                TEST(a_failed_unit_stays_failed_until_it_is_reset),
                TEST(the_start_of_a_oneshot_ends_with_it),
                TEST(a_stop_ends_a_start_that_is_under_way),
                TEST(new_content_is_seen_when_it_is_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
