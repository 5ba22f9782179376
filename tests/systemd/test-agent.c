// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and a real systemd (see with-manager): what agent.h promises, with nothing in between that only
// pretends. What somebody else does is done with systemctl.
#include "agent-rig.h"

#include <sys/wait.h>

static void systemctl(const char *arguments) {
        _cleanup_free_ char *command = str_printf("systemctl --user -q %s", arguments);

        assert_int_equal(system(command), 0);
}

static bool is_active(const char *unit) {
        _cleanup_free_ char *command = str_printf("systemctl --user -q is-active %s", unit);
        int status = system(command);

        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int world_up(void **state) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");

        assert_non_null(runtime);
        rig_up();
        free(w.unit_dir);
        w.unit_dir = str_printf("%s/systemd/user", runtime);
        assert_int_equal(dir_empty(AT_FDCWD, w.unit_dir), 0);
        w.systemd.socket_path = str_printf("%s/systemd/private", runtime);
        agent_up();
        return 0;
}

static int world_down(void **state) {
        if (w.agent)
                agent_down();
        systemctl("stop '*.service'");
        systemctl("reset-failed");
        free((char *) w.systemd.socket_path);
        return rig_down();
}

// Each start of a unit leaves a line in a file of the test.
static char counted[256], *count_path;

static const char *count_starts(const char *type) {
        free(count_path);
        count_path = str_printf("%s/starts", w.dir);
        snprintf(counted, sizeof(counted),
                 "[Service]\nType=%s\nStandardOutput=null\nExecStartPre=/bin/sh -c 'echo x "
                 ">>%s'\nExecStart=%s\n",
                 type, count_path, streq(type, "oneshot") ? "/bin/true" : "/bin/sleep 1000");
        return counted;
}

static size_t n_starts(void) {
        _cleanup_buf_ Buf lines = {};

        return file_read(AT_FDCWD, count_path, 1 << 16, &lines) < 0 ? 0 : lines.len / 2;
}

static const char sleeps[] = "[Service]\nStandardOutput=null\nExecStart=/bin/sleep 1000\n",
                  sleeps_longer[] = "[Service]\nStandardOutput=null\nExecStart=/bin/sleep 2000\n",
                  fails[] = "[Service]\nExecStart=/bin/false\nType=oneshot\n",
                  odd[] = "[Service]\nType=nonsense\n";

enum { N = 50 };
static char names[N][32];
static Order orders[N];

static void fifty_instances_start_restart_and_go(void **state) {
        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "web@%i.service", i);
                orders[i] = (Order){.name = names[i],
                                    .content = sleeps,
                                    .from_template = true,
                                    .revision = 5,
                                    .start = 5};
        }
        meet_leader(NULL, 0);
        send_orders(orders, N);
        for (int i = 0; i < N; i++) {
                loop_until(answered(names[i], 5));
                assert_string_equal(report_of(names[i])->error, "");
                assert_int_equal(report_of(names[i])->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
                assert_int_equal(report_of(names[i])->invocation_id.len, 16);
        }
        for (int i = 0; i < N; i++)
                orders[i].revision = orders[i].restart = 6;
        send_orders(orders, N);
        for (int i = 0; i < N; i++)
                loop_until(answered(names[i], 6));
        w.term++;
        meet_leader(NULL, 0);
        for (int i = 0; i < N; i++)
                loop_until(is_gone(names[i]));
        assert_false(is_active("'web@*'"));
        assert_false(has_file("web@.service") || has_file("web@.service.d"));
}

static void argosyd_comes_and_goes_and_units_run_on(void **state) {
        Order o = {.name = "web.service", .content = count_starts("simple"), .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(answered("web.service", 5));
        for (int i = 0; i < 5; i++) {
                agent_down();
                agent_up();
                meet_leader(&o, 1);
        }
        o.revision = 6;
        send_order(o);
        loop_until(answered("web.service", 6));
        assert_int_equal(n_starts(), 1);
        assert_true(is_active("web.service"));
}

// After so many turns of the loop, from none to all: the start was asked for once, so it happens once.
static void argosyd_dies_in_the_middle_of_a_start(void **state) {
        for (unsigned turns = 0; turns < 25; turns++) {
                Order o = {.name = "web.service",
                           .content = count_starts("simple"),
                           .revision = 5 + turns,
                           .start = 5 + turns};

                if (turns == 0)
                        meet_leader(NULL, 0);
                else
                        systemctl("stop web.service");
                (void) unlink(count_path);
                send_order(o);
                for (unsigned i = 0; i < turns && !answered("web.service", o.revision); i++)
                        uv_run(&test_loop, UV_RUN_ONCE);
                agent_down();
                agent_up();
                meet_leader(&o, 1);
                loop_until(answered("web.service", o.revision));
                assert_true(is_active("web.service"));
                assert_int_equal(n_starts(), 1);
        }
}

static void a_oneshot_runs_once_and_a_failed_one_is_told(void **state) {
        Order o = {.name = "job.service", .content = count_starts("oneshot"), .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        send_order((Order){.name = "bad.service", .content = fails, .revision = 6, .start = 6});
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
        loop_until(answered("bad.service", 6) && report_of("bad.service")->outcome);
        assert_int_equal(report_of("bad.service")->outcome->kind, ARGOSY__OUTCOME__KIND__FAILED);
        assert_string_equal(report_of("bad.service")->result, "exit-code");
        agent_down();
        agent_up();
        meet_leader((Order[]){o, {.name = "bad.service", .content = fails, .revision = 6, .start = 6}}, 2);
        o.revision = 7;
        send_order(o);
        loop_until(answered("job.service", 7));
        assert_int_equal(n_starts(), 1);
        assert_int_equal(report_of("bad.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
}

static void stopped_with_systemctl_stays_stopped(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = sleeps, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        systemctl("stop web.service");
        loop_until(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        assert_int_equal(report_of("web.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        send_order((Order){.name = "web.service", .content = sleeps, .revision = 6, .start = 6});
        loop_until(answered("web.service", 6));
        assert_true(is_active("web.service"));
        assert_false(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
}

// What PID 1 has in memory, as `systemctl show` tells it.
static bool has_in_memory(const char *unit, const char *needle) {
        _cleanup_free_ char *command =
                str_printf("systemctl --user show -p ExecStart %s | grep -q -- '%s'", unit, needle);

        return system(command) == 0;
}

static void new_content_is_what_runs(void **state) {
        Order o = {.name = "web@1.service",
                   .content = sleeps,
                   .from_template = true,
                   .revision = 5,
                   .start = 5};
        Order sister = {.name = "web@2.service",
                        .content = sleeps,
                        .from_template = true,
                        .revision = 6,
                        .start = 6};

        meet_leader(NULL, 0);
        send_orders((Order[]){o, sister}, 2);
        loop_until(answered("web@1.service", 5) && answered("web@2.service", 6));
        o.content = sleeps_longer;
        o.revision = 7;
        send_order(o);
        loop_until(answered("web@1.service", 7));
        assert_true(has_in_memory("web@1.service", "sleep 2000"));
        systemctl("daemon-reload");
        systemctl("restart web@2.service");
        assert_true(has_in_memory("web@2.service", "sleep 1000"));
}

static void a_unit_that_another_pins_is_reloaded(void **state) {
        static const char pin[] = "[Unit]\nWants=web.service\n[Service]\nExecStart=/bin/sleep 1000\n";

        meet_leader(NULL, 0);
        send_order((Order){.name = "pin.service", .content = pin, .revision = 4, .start = 4});
        send_order((Order){.name = "web.service", .content = sleeps, .revision = 5, .start = 5});
        loop_until(answered("pin.service", 4) && answered("web.service", 5));
        send_order((Order){.name = "web.service", .content = sleeps_longer, .revision = 6, .start = 5});
        loop_until(answered("web.service", 6));
        assert_true(is_active("web.service"));
        assert_true(has_in_memory("web.service", "sleep 2000"));
        assert_true(is_active("pin.service"));
}

static void a_file_that_systemd_cannot_use_is_reported(void **state) {
        meet_leader(NULL, 0);
        send_orders(
                (Order[]){{.name = "odd.service", .content = odd, .loaded_only = true, .revision = 5},
                          {.name = "web.service", .content = sleeps, .loaded_only = true, .revision = 6}},
                2);
        loop_until(answered("odd.service", 5) && answered("web.service", 6));
        assert_true(*report_of("odd.service")->error);
        assert_string_equal(report_of("web.service")->error, "");
        assert_int_equal(report_of("web.service")->load, ARGOSY__LOAD_STATE__LOAD_LOADED);
        assert_false(is_active("web.service"));
}

static void somebody_elses_unit_is_not_touched(void **state) {
        meet_leader(NULL, 0);
        assert_int_equal(system("systemd-run --user -q --unit=theirs.service /bin/sleep 1000"), 0);
        send_order((Order){.name = "theirs.service", .content = sleeps, .revision = 5, .start = 5});
        loop_until(answered("theirs.service", 5));
        assert_true(report_of("theirs.service")->refused);
        send_order((Order){.name = "theirs.service", .remove = true, .revision = 6});
        loop_until(is_gone("theirs.service"));
        assert_true(is_active("theirs.service"));
}

static void reloads_and_reexecs_of_others_disturb_nothing(void **state) {
        Order o = {.name = "web.service", .content = count_starts("simple"), .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        systemctl("daemon-reload");
        loop_until(answered("web.service", 5));
        systemctl("daemon-reexec");
        o.revision = o.restart = 6;
        send_order(o);
        loop_until(answered("web.service", 6));
        assert_int_equal(n_starts(), 2);
        assert_true(is_active("web.service"));
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(fifty_instances_start_restart_and_go),
                WORLD_TEST(argosyd_comes_and_goes_and_units_run_on),
                WORLD_TEST(argosyd_dies_in_the_middle_of_a_start),
                WORLD_TEST(a_oneshot_runs_once_and_a_failed_one_is_told),
                WORLD_TEST(stopped_with_systemctl_stays_stopped),
                WORLD_TEST(new_content_is_what_runs),
                WORLD_TEST(a_unit_that_another_pins_is_reloaded),
                WORLD_TEST(a_file_that_systemd_cannot_use_is_reported),
                WORLD_TEST(somebody_elses_unit_is_not_touched),
                WORLD_TEST(reloads_and_reexecs_of_others_disturb_nothing),
        };
        int r = cmocka_run_group_tests(tests, NULL, NULL);

        free(count_path);
        return r;
}
