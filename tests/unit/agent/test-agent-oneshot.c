// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and one-shots: they run once, whatever dies meanwhile, and how they ended is told.
#include "agent-world.h"

#include "agent-private.h"
#include "unit-state.h"

static void a_oneshot_that_somebody_cancels_is_not_done(void **state) {
        meet_leader(NULL, 0);
        send_order((Order){.name = "job.service", .content = job, .revision = 5, .start = 5});
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_stop(pid1, "job.service");
        loop_until(answered("job.service", 5));
        assert_null(report_of("job.service")->outcome);
        assert_non_null(strstr(report_of("job.service")->error, "cancelled"));
        // Nor after a restart of argosyd.
        agent_restart();
        meet_leader((Order[]){{.name = "job.service", .content = job, .revision = 5, .start = 5}}, 1);
        loop_until(report_of("job.service")->down == ARGOSY__DOWN_CAUSE__DOWN_CANCELLED);
        assert_null(report_of("job.service")->outcome);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void a_oneshot_runs_once(void **state) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};
        uint64_t start_rev;

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
        start_rev = report_of("job.service")->outcome->start_rev;
        assert_int_equal(start_rev, 5);
        // Told again until the leader has noted it, also after a restart of argosyd.
        agent_restart();
        meet_leader(&o, 1);
        assert_int_equal(w.attach->attach->held[0]->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
        o.revision = 6;
        o.outcome = ARGOSY__OUTCOME__KIND__DONE;
        order_and_wait(o);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
        // An explicit start runs it again.
        o.revision = o.start = 7;
        o.outcome = ARGOSY__OUTCOME__KIND__NONE;
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 2);
        pid1_finish(pid1, "job.service", false);
        loop_until(answered("job.service", 7) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__FAILED);
}

static void a_oneshot_that_is_over_elsewhere_is_not_run_here(void **state) {
        meet_leader((Order[]){{.name = "job.service",
                               .content = job,
                               .revision = 9,
                               .start = 5,
                               .outcome = ARGOSY__OUTCOME__KIND__FAILED}},
                    1);
        loop_until(answered("job.service", 9));
        assert_int_equal(pid1_runs(pid1, "job.service"), 0);
        assert_false(report_of("job.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        assert_null(report_of("job.service")->outcome);
}

static void a_crash_while_a_start_is_under_way_starts_once(void **state) {
        Order orders[] = {{.name = "web.service", .content = web, .revision = 5, .start = 5},
                          {.name = "job.service", .content = job, .revision = 6, .start = 6},
                          {.name = "late.service", .content = web2, .revision = 7, .start = 7}};

        meet_leader(NULL, 0);
        send_orders(orders, 2);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_hold_jobs(pid1, true);
        send_orders(orders + 2, 1);
        loop_until(pid1_n_held(pid1) == 1); // recorded, and PID 1 never hears of it
        agent_down();
        pid1_hold_jobs(pid1, false);
        agent_up();
        meet_leader(orders, 3);
        loop_until(answered("late.service", 7) && answered("web.service", 5));
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 6) && report_of("job.service")->outcome);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
        assert_int_equal(pid1_runs(pid1, "late.service"), 1);
}

static Order crash_around_a_oneshot(void) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        pid1_hold_jobs(pid1, true);
        send_order(o);
        loop_until(pid1_n_held(pid1) == 1);
        agent_down();
        return o;
}

static void a_oneshot_that_ran_unseen_is_not_run_again(void **state) {
        Order o = crash_around_a_oneshot();

        pid1_hold_jobs(pid1, false);
        pid1_start(pid1, "job.service"); // systemd had heard of it after all
        pid1_finish(pid1, "job.service", true);
        agent_up();
        meet_leader(&o, 1);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void a_oneshot_that_failed_unseen_has_failed(void **state) {
        Order o = crash_around_a_oneshot();

        pid1_hold_jobs(pid1, false);
        pid1_start(pid1, "job.service");
        pid1_finish(pid1, "job.service", false);
        agent_up();
        meet_leader(&o, 1);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__FAILED);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void a_oneshot_that_was_not_started_is_started(void **state) {
        Order o = crash_around_a_oneshot();

        pid1_hold_jobs(pid1, false);
        agent_up();
        meet_leader(&o, 1);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 5));
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

static void assert_unknown(void) {
        const Argosy__UnitReport *r = report_of("job.service");

        assert_int_equal(pid1_runs(pid1, "job.service"), 0);
        assert_non_null(r->outcome);
        assert_int_equal(r->outcome->kind, ARGOSY__OUTCOME__KIND__UNKNOWN);
        assert_string_equal(r->error, OUTCOME_UNKNOWN_TEXT);
        assert_int_equal(r->down, ARGOSY__DOWN_CAUSE__DOWN_NOT);
}

static void a_oneshot_of_which_nobody_knows_waits_for_a_decision(void **state) {
        Order o = crash_around_a_oneshot();

        pid1_hold_jobs(pid1, false);
        pid1_lose_pin(pid1, "job.service");
        agent_up();
        meet_leader(&o, 1);
        loop_until(answered("job.service", 5));
        assert_unknown();
        agent_restart();
        forget_reports();
        meet_leader(&o, 1);
        loop_until(answered("job.service", 5));
        assert_unknown(); // it was noted
        o.outcome = ARGOSY__OUTCOME__KIND__UNKNOWN;
        send_order(o);
        loop_until(!report_of("job.service")->outcome);
        assert_string_equal(report_of("job.service")->error, ""); // whoever wants to know asks the log
        assert_false(report_of("job.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        o = (Order){.name = "job.service", .content = job, .revision = 6, .start = 6};
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
}

static void a_failure_that_somebody_resets_while_we_are_away_is_one(void **state) {
        Order o = crash_around_a_oneshot();

        pid1_hold_jobs(pid1, false);
        pid1_start(pid1, "job.service");
        pid1_finish(pid1, "job.service", false);
        pid1_reset_failed(pid1, "job.service");
        agent_up();
        meet_leader(&o, 1);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__FAILED);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
        o.revision = o.start = 6;
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 2);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 6) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
}

static void a_oneshot_that_cannot_begin_has_failed(void **state) {
        static const char needy[] =
                "[Unit]\nRequires=nobody.service\n[Service]\nType=oneshot\nExecStart=/bin/true\n";
        Order o = {.name = "job.service", .content = needy, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__FAILED);
        assert_string_equal(report_of("job.service")->outcome->result, "dependency");
        assert_string_equal(report_of("job.service")->error, "start failed because of a dependency");
        agent_restart();
        forget_reports();
        meet_leader(&o, 1);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__FAILED);
        assert_int_equal(pid1_runs(pid1, "job.service"), 0);
}

static void a_oneshot_of_which_nobody_knows_is_run_again_if_it_says_so(void **state) {
        static const char anyway[] =
                "[Service]\nType=oneshot\nExecStart=/bin/true\n[X-Argosy]\nOutcomeUnknown=rerun\n";
        Order o = {.name = "job.service", .content = anyway, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        pid1_hold_jobs(pid1, true);
        send_order(o);
        loop_until(pid1_n_held(pid1) == 1);
        agent_down();
        pid1_hold_jobs(pid1, false);
        pid1_lose_pin(pid1, "job.service");
        agent_up();
        meet_leader(&o, 1);
        loop_until(pid1_runs(pid1, "job.service") == 1);
}

static void a_oneshot_is_let_go_when_the_cluster_knows(void **state) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_true(pid1_is_held(pid1, "job.service"));
        o.outcome = ARGOSY__OUTCOME__KIND__DONE;
        send_order(o);
        loop_until(!pid1_is_held(pid1, "job.service"));
        assert_null(pid1_content(pid1, "job.service"));
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
        loop_until(agent_node_find(w.agent, NODE)->n_jobs == 0); // pins are counted, too
}

static void a_oneshot_runs_also_where_it_cannot_be_pinned(void **state) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};

        pid1_refuse_pins(pid1);
        meet_leader(NULL, 0);
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
}

static void a_second_start_of_a_running_oneshot_joins_the_first(void **state) {
        Order o = {.name = "job.service", .content = job, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        send_order(o);
        loop_until(pid1_runs(pid1, "job.service") == 1);
        o.revision = o.start = 6;
        send_order(o);
        order_and_wait((Order){.name = "proof.service", .content = web, .revision = 7, .start = 7});
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 6) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->start_rev, 6);
        assert_int_equal(pid1_runs(pid1, "job.service"), 1);
}

RUN_TESTS(
        WORLD_TEST(a_oneshot_that_somebody_cancels_is_not_done),
        WORLD_TEST(a_oneshot_runs_once),
        WORLD_TEST(a_oneshot_that_is_over_elsewhere_is_not_run_here),
        WORLD_TEST(a_crash_while_a_start_is_under_way_starts_once),
        WORLD_TEST(a_oneshot_that_ran_unseen_is_not_run_again),
        WORLD_TEST(a_oneshot_that_was_not_started_is_started),
        WORLD_TEST(a_oneshot_of_which_nobody_knows_waits_for_a_decision),
        WORLD_TEST(a_oneshot_that_failed_unseen_has_failed),
        WORLD_TEST(a_failure_that_somebody_resets_while_we_are_away_is_one),
        WORLD_TEST(a_oneshot_that_cannot_begin_has_failed),
        WORLD_TEST(a_oneshot_of_which_nobody_knows_is_run_again_if_it_says_so),
        WORLD_TEST(a_oneshot_is_let_go_when_the_cluster_knows),
        WORLD_TEST(a_oneshot_runs_also_where_it_cannot_be_pinned),
        WORLD_TEST(a_second_start_of_a_running_oneshot_joins_the_first)
)
