// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and units that are more than services: [Install], and units that need each other's files.
// Against a PID 1 in memory.
#include "agent-world.h"

#include <dirent.h>

static const char app[] = "[Unit]\nDescription=App\n",
                  wanted[] =
                          "[Service]\nExecStart=/bin/sleep 1\n[Install]\nWantedBy=app.target boot.target\n",
                  once[] = "[Service]\nType=oneshot\nExecStart=/bin/true\n[Install]\nWantedBy=boot.target\n",
                  aliased[] = "[Service]\nExecStart=/bin/sleep 1\n[Install]\nAlias=www.service\n",
                  timer[] = "[Timer]\nOnActiveSec=1h\n", listening[] = "[Socket]\nListenStream=7\n";

static bool is_link(const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", w.unit_dir, name);
        struct stat st;

        return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static size_t n_files(void) {
        DIR *dir = opendir(w.unit_dir);
        size_t n = 0;

        for (struct dirent *e; (e = readdir(dir));)
                n += e->d_name[0] != '.';
        closedir(dir);
        return n;
}

// The same order again and again, with what changed.
static void order(const char *name, const char *content, bool loaded_only, uint64_t revision,
                  uint64_t start) {
        send_order((Order){.name = name,
                           .content = content,
                           .loaded_only = loaded_only,
                           .revision = revision,
                           .start = start});
        loop_until(answered(name, revision));
        assert_string_equal(report_of(name)->error, "");
}

static void links_under_the_system_follow_what_is_to_run(void **state) {
        write_foreign("boot.target");
        meet_leader(NULL, 0);
        order("web.service", wanted, true, 5, 0);
        assert_true(is_link("app.target.wants/web.service"));
        assert_false(is_link("boot.target.wants/web.service"));
        order("web.service", wanted, false, 6, 6);
        assert_true(is_link("boot.target.wants/web.service"));
        order("web.service", wanted, true, 7, 6);
        assert_false(is_link("boot.target.wants/web.service"));
        assert_true(is_link("app.target.wants/web.service"));
        assert_int_equal(pid1_n_reloads(pid1), 0);
        send_order((Order){.name = "web.service", .remove = true, .revision = 8});
        loop_until(is_gone("web.service"));
        assert_int_equal(n_files(), 0);
}

static void a_new_start_has_its_links_at_once(void **state) {
        write_foreign("boot.target");
        meet_leader(NULL, 0);
        order("web.service", wanted, false, 5, 5);
        assert_true(is_link("boot.target.wants/web.service"));
        assert_true(pid1_is_active(pid1, "web.service"));
}

static void a_oneshot_that_is_done_is_wanted_by_nothing_of_the_systems(void **state) {
        write_foreign("boot.target");
        meet_leader(NULL, 0);
        send_order((Order){.name = "once.service", .content = once, .revision = 5, .start = 5});
        loop_until(pid1_runs(pid1, "once.service") == 1);
        assert_true(is_link("boot.target.wants/once.service"));
        pid1_finish(pid1, "once.service", true);
        loop_until(answered("once.service", 5) && !is_link("boot.target.wants/once.service"));
        assert_int_equal(report_of("once.service")->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
}

static void argosyd_may_end_between_any_two_of_these(void **state) {
        const Order orders[] = {{.name = "web.service", .content = wanted, .revision = 6, .start = 6}};

        write_foreign("boot.target");
        meet_leader(NULL, 0);
        order("web.service", wanted, true, 5, 0);
        send_order(orders[0]);
        agent_down(); // perhaps started, perhaps not, certainly not settled
        agent_up();
        meet_leader(orders, 1);
        loop_until(answered("web.service", 6));
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_true(is_link("boot.target.wants/web.service"));
        agent_restart();
        meet_leader(NULL, 0); // not wanted any more
        loop_until(is_gone("web.service"));
        assert_int_equal(n_files(), 0);
}

static void a_target_in_memory_is_read_again_before_it_starts(void **state) {
        meet_leader(NULL, 0);
        order("app.target", app, false, 5, 5);
        order("web.service", wanted, true, 6, 0);
        assert_int_equal(pid1_n_reloads(pid1), 0); // that the target is up is no reason
        assert_int_equal(pid1_wants(pid1, "app.target"), 0);
        order_and_wait(
                (Order){.name = "app.target", .content = app, .revision = 7, .start = 7, .restart = 7});
        assert_int_equal(pid1_n_reloads(pid1), 1);
        assert_int_equal(pid1_wants(pid1, "app.target"), 1);
        order_and_wait(
                (Order){.name = "app.target", .content = app, .revision = 8, .start = 8, .restart = 8});
        assert_int_equal(pid1_n_reloads(pid1), 1);
}

static void a_target_that_left_memory_needs_no_reload(void **state) {
        meet_leader(NULL, 0);
        order("app.target", app, false, 5, 5);
        order("web.service", wanted, true, 6, 0);
        order("app.target", app, true, 7, 5);
        order("app.target", app, false, 8, 8);
        assert_int_equal(pid1_wants(pid1, "app.target"), 1);
        assert_int_equal(pid1_n_reloads(pid1), 0);
}

// Nobody knows then whether systemd has seen the links.
static void the_first_restart_after_argosyd_was_away_reads_links_again(void **state) {
        const Order orders[] = {
                {.name = "app.target", .content = app, .revision = 5, .start = 5},
                {.name = "web.service", .content = wanted, .loaded_only = true, .revision = 6}};

        meet_leader(NULL, 0);
        order("app.target", app, false, 5, 5);
        order("web.service", wanted, true, 6, 0);
        agent_restart();
        meet_leader(orders, 2);
        order_and_wait(
                (Order){.name = "app.target", .content = app, .revision = 7, .start = 7, .restart = 7});
        assert_int_equal(pid1_wants(pid1, "app.target"), 1);
        assert_int_equal(pid1_n_reloads(pid1), 1);
}

static void an_alias_of_somebody_else_refuses_the_unit(void **state) {
        write_foreign("www.service");
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = aliased, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5) && report_of("web.service")->refused);
        assert_non_null(strstr(report_of("web.service")->error, "/etc/www.service"));
        assert_false(has_file("web.service"));
}

// The timer is named first, and its service is in the last of several batches of files.
static void a_timer_starts_when_all_that_came_with_it_is_written(void **state) {
        enum { N = 800 };
        static char names[N][32];
        Order orders[N + 2] = {{.name = "late.timer", .content = timer, .revision = 5, .start = 5}};

        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "web@%i.service", i);
                orders[i + 1] = (Order){.name = names[i],
                                        .content = web,
                                        .from_template = true,
                                        .loaded_only = true,
                                        .revision = 5};
        }
        orders[N + 1] = (Order){.name = "late.service", .content = web, .loaded_only = true, .revision = 5};
        meet_leader(NULL, 0);
        send_orders(orders, N + 2);
        loop_until(answered("late.timer", 5));
        assert_string_equal(report_of("late.timer")->error, "");
        assert_true(pid1_is_active(pid1, "late.timer"));
        assert_int_equal(pid1_runs(pid1, "late.service"), 0);
}

// The service's file is there long before that of the socket, which is in the last of several batches of
// files.
static void a_service_starts_after_the_socket_that_came_with_it(void **state) {
        enum { N = 800 };
        static char names[N][32];
        Order orders[N + 2] = {{.name = "late.service", .content = web, .revision = 5, .start = 5}};

        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "web@%i.service", i);
                orders[i + 1] = (Order){.name = names[i],
                                        .content = web,
                                        .from_template = true,
                                        .loaded_only = true,
                                        .revision = 5};
        }
        orders[N + 1] = (Order){.name = "late.socket", .content = listening, .revision = 5, .start = 5};
        meet_leader(NULL, 0);
        send_orders(orders, N + 2);
        loop_until(pid1_runs(pid1, "late.service") == 1);
        assert_true(pid1_is_active(pid1, "late.socket"));
        loop_until(answered("late.service", 5) && answered("late.socket", 5));
}

// A timer runs its service although that is only loaded; that is no drift, nothing is stopped, and a
// one-shot that ended is not done for ever.
static void what_a_timer_runs_is_left_alone(void **state) {
        meet_leader(NULL, 0);
        order("job.service", job, true, 5, 0);
        order("job.timer", timer, false, 6, 6);
        for (unsigned i = 1; i <= 3; i++) {
                pid1_start(pid1, "job.service");
                loop_until(report_of("job.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
                assert_false(report_of("job.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
                pid1_finish(pid1, "job.service", i != 2);
                loop_until(report_of("job.service")->active ==
                           (i != 2 ? ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE
                                   : ARGOSY__ACTIVE_STATE__ACTIVE_FAILED));
                assert_int_equal(pid1_runs(pid1, "job.service"), i);
                assert_true(!report_of("job.service")->outcome ||
                            report_of("job.service")->outcome->kind == ARGOSY__OUTCOME__KIND__NONE);
                assert_false(report_of("job.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        }
}

RUN_TESTS(
        WORLD_TEST(links_under_the_system_follow_what_is_to_run),
        WORLD_TEST(a_new_start_has_its_links_at_once),
        WORLD_TEST(a_oneshot_that_is_done_is_wanted_by_nothing_of_the_systems),
        WORLD_TEST(argosyd_may_end_between_any_two_of_these),
        WORLD_TEST(a_target_in_memory_is_read_again_before_it_starts),
        WORLD_TEST(a_target_that_left_memory_needs_no_reload),
        WORLD_TEST(the_first_restart_after_argosyd_was_away_reads_links_again),
        WORLD_TEST(an_alias_of_somebody_else_refuses_the_unit),
        WORLD_TEST(a_timer_starts_when_all_that_came_with_it_is_written),
        WORLD_TEST(a_service_starts_after_the_socket_that_came_with_it),
        WORLD_TEST(what_a_timer_runs_is_left_alone)
)
