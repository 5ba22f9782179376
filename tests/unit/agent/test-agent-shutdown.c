// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent when the machine goes down and comes up again: what it announces, and what it says at the end.
#include "agent-world.h"

#include "agent-private.h"
#include "feature-level.h"
#include "message.h"

static void a_shutdown_is_announced_and_judges_nothing(void **state) {
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5},
                              {.name = "job.service", .content = job, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("web.service", 5) && pid1_runs(pid1, "job.service") == 1);
        pid1_shut_down(pid1);
        loop_until(w.stopping && w.goodbye);
        assert_true(w.goodbye->goodbye->stopping); // units still run here
        assert_true(agent_is_stopping(w.agent));
        pid1_stop(pid1, "web.service");
        pid1_stop(pid1, "job.service");
        loop_until(report_of("job.service") &&
                   report_of("job.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_null(report_of("job.service")->outcome);
        assert_int_equal(report_of("web.service")->down, ARGOSY__DOWN_CAUSE__DOWN_NOT);
        agent_goodbye(w.agent, agent_is_stopping(w.agent));
        assert_int_equal(w.goodbye->goodbye->why, ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN);
        assert_false(w.goodbye->goodbye->stopping); // none does now
        assert_int_equal(w.goodbye->goodbye->n_running, 0);
}

static void a_shutdown_that_is_cancelled_at_once_was_none(void **state) {
        uint64_t seq;

        meet_leader(NULL, 0);
        seq = w.attach->attach->seq;
        agent_systemd_ops.stopping(w.agent->system);
        agent_systemd_ops.resumed(w.agent->system);
        loop_until(w.attach->attach->seq != seq);
        assert_false(w.stopping);
        assert_null(w.goodbye);
}

static void count(void *userdata) {
        ++*(unsigned *) userdata;
}

// SIGTERM is quicker than the word of systemd.
static void whether_the_machine_goes_down_is_asked(void **state) {
        unsigned known = 0;

        meet_leader(NULL, 0);
        agent_ask_stopping(w.agent, count, &known);
        loop_until(known == 1);
        assert_false(agent_is_stopping(w.agent));
        pid1_shut_down(pid1);
        agent_ask_stopping(w.agent, count, &known);
        assert_int_equal(known, 1);
        loop_until(known == 2);
        assert_true(agent_is_stopping(w.agent));
}

static void a_systemd_that_is_not_there_is_not_waited_for(void **state) {
        unsigned known = 0;

        meet_leader(NULL, 0);
        pid1_disconnect(pid1);
        agent_ask_stopping(w.agent, count, &known);
        loop_until(known == 1);
        agent_refresh_before_goodbye(w.agent, count, &known);
        loop_until(known == 2);
}

static void a_goodbye_names_what_may_still_run(void **state) {
        const Argosy__ToVoter__Goodbye *goodbye;
        unsigned refreshed = 0;

        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5},
                              {.name = "late.service", .content = web2, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("web.service", 5) && answered("late.service", 6));
        pid1_shut_down(pid1);
        loop_until(w.stopping && w.goodbye);
        pid1_stop(pid1, "web.service");
        agent_refresh_before_goodbye(w.agent, count, &refreshed);
        loop_until(refreshed == 1);
        agent_goodbye(w.agent, true);
        goodbye = w.goodbye->goodbye;
        assert_false(goodbye->stopping);
        assert_int_equal(goodbye->n_running, 1);
        assert_false(goodbye->running[0]->all);
        assert_int_equal(goodbye->running[0]->n_units, 1);
        assert_string_equal(goodbye->running[0]->units[0], "late.service");
}

// That nothing is known of a unit is no sign that it has ended.
static void a_goodbye_names_what_is_held_where_no_manager_was_reached(void **state) {
        const Argosy__ToVoter__Goodbye *goodbye;

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        pid1_shut_down(pid1);
        loop_until(w.stopping && w.goodbye);
        pid1_stop(pid1, "web.service");
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        w.agent->system->synced = false; // as after a restart
        agent_goodbye(w.agent, true);
        goodbye = w.goodbye->goodbye;
        assert_int_equal(goodbye->n_running, 1);
        assert_int_equal(goodbye->running[0]->n_units, 1);
        assert_string_equal(goodbye->running[0]->units[0], "web.service");
}

// It has not heard it from us, and Attach alone would bring new units here.
static void the_next_leader_is_told_of_the_shutdown_too(void **state) {
        meet_leader(NULL, 0);
        pid1_shut_down(pid1);
        loop_until(w.stopping && w.goodbye);
        message_free(w.goodbye);
        w.goodbye = NULL;
        agent_on_leader(w.agent, 2, 8);
        loop_until(w.goodbye);
        assert_true(w.goodbye->goodbye->stopping);
}

static void a_soft_reboot_starts_what_was_launched_again(void **state) {
        Order orders[] = {{.name = "web.service", .content = web, .revision = 5, .start = 5},
                          {.name = "job.service", .content = job, .revision = 6, .start = 6}};

        meet_leader(NULL, 0);
        send_orders(orders, 2);
        loop_until(answered("web.service", 5) && pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 6) && report_of("job.service")->outcome);
        pid1_shut_down(pid1);
        loop_until(w.stopping);
        pid1_stop(pid1, "web.service");
        agent_down();
        pid1_boot(pid1); // with /run as it was
        agent_up();
        meet_leader(orders, 2);
        loop_until(pid1_is_active(pid1, "web.service"));
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
        agent_down(); // and only once
        pid1_stop(pid1, "web.service");
        agent_up();
        meet_leader(orders, 2);
        loop_until(w.attach->attach->n_held == 2);
        order_and_wait((Order){.name = "proof.service", .content = web, .revision = 7, .start = 7});
        assert_int_equal(pid1_runs(pid1, "web.service"), 2);
}

RUN_TESTS(
        WORLD_TEST(a_shutdown_is_announced_and_judges_nothing),
        WORLD_TEST(a_shutdown_that_is_cancelled_at_once_was_none),
        WORLD_TEST(whether_the_machine_goes_down_is_asked),
        WORLD_TEST(a_systemd_that_is_not_there_is_not_waited_for),
        WORLD_TEST(a_goodbye_names_what_may_still_run),
        WORLD_TEST(a_goodbye_names_what_is_held_where_no_manager_was_reached),
        WORLD_TEST(the_next_leader_is_told_of_the_shutdown_too),
        WORLD_TEST(a_soft_reboot_starts_what_was_launched_again)
)
