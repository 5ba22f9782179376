// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and the real connection to systemd together, against a manager that speaks the private socket's
// language. What the agent decides is tested in test-agent.c; here it is that both understand each other:
// states that are not known yet, lost connections in the middle of jobs, reloads by others.
#include "agent-rig.h"

#include "agent-private.h"
#include "agent-probation.h"
#include "clock.h"
#include "probation.h"
#include "report-pace.h"

#include "fake-systemd.h"

static FakeSystemd *systemd;

FIXTURE(world_up) {
        rig_up();
        systemd = fake_systemd_new(&test_loop, w.unit_dir);
        w.systemd.open_socket = fake_systemd_open;
        w.systemd.open_userdata = systemd;
        agent_up();
}

static int world_down(void **state) {
        if (w.agent)
                agent_down();
        fake_systemd_free(systemd);
        return rig_down();
}

static bool runs(const char *name) {
        const char *active = fake_systemd_active(systemd, name);

        return active && streq(active, "active");
}

enum { N = 100 };
static char names[N][32];
static Order orders[N];

static void a_hundred_instances(void) {
        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "web@%i.service", i);
                orders[i] = (Order){
                        .name = names[i], .content = web, .from_template = true, .revision = 5, .start = 5};
        }
}

static void all_run(void) {
        for (int i = 0; i < N; i++) {
                loop_until(answered(names[i], 5));
                assert_string_equal(report_of(names[i])->error, "");
                assert_int_equal(report_of(names[i])->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
                assert_true(runs(names[i]));
        }
}

static void a_hundred_units_start_and_survive_argosyd(void **state) {
        a_hundred_instances();
        meet_leader(NULL, 0);
        send_orders(orders, N);
        all_run();
        assert_int_equal(fake_systemd_calls(systemd, "StartUnit"), N);
        assert_int_equal(fake_systemd_calls(systemd, "Reload"), 0);
        assert_true(fake_systemd_jobs_peak(systemd) <= SYSTEMD_JOBS_MAX);
        agent_restart();
        meet_leader(orders, N);
        assert_int_equal(w.attach->attach->n_held, N);
        all_run();
        assert_int_equal(fake_systemd_calls(systemd, "StartUnit"), N);
        assert_int_equal(fake_systemd_calls(systemd, "StopUnit"), 0);
}

// Wherever the connection breaks, in the end every unit runs and none was started while it ran.
static void the_connection_may_break_anywhere(void **state) {
        a_hundred_instances();
        meet_leader(NULL, 0);
        fake_systemd_cut_after(systemd, 57);
        send_orders(orders, N);
        for (int i = 0; i < N; i++) {
                if (i % 10 == 0)
                        fake_systemd_cut_after(systemd, 23 + i);
                loop_until(answered(names[i], 5));
        }
        fake_systemd_cut_after(systemd, -1);
        all_run();
}

static void the_end_of_a_job_may_come_before_the_change(void **state) {
        fake_systemd_job_first(systemd, true);
        fake_systemd_end_before_reply(systemd, true);
        a_hundred_instances();
        meet_leader(NULL, 0);
        send_orders(orders, N);
        all_run();
        for (int i = 0; i < N; i++)
                assert_false(report_of(names[i])->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
}

// On one clock, so that a leader can say for how long it has been up and was told so.
static void a_report_says_when_it_happened_and_a_beat_until_when_all_was_told(void **state) {
        uint64_t before_ms = clock_boot_us() / USEC_PER_MSEC, changed_ms;

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        changed_ms = report_of("web.service")->changed_ms;
        assert_in_range(changed_ms, before_ms, clock_boot_us() / USEC_PER_MSEC);
        loop_until(w.reported_ms > changed_ms);
        assert_in_range(w.reported_ms, changed_ms, clock_boot_us() / USEC_PER_MSEC);
        fake_systemd_set(systemd, "web.service", "failed", "failed", "exit-code");
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_true(report_of("web.service")->changed_ms > changed_ms);
}

// A leader takes a unit for well that was not told to have failed by then.
static void what_was_not_read_yet_was_not_told_either(void **state) {
        unsigned beats;

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(w.reported_ms > report_of("web.service")->changed_ms);
        beats = w.n_beats;
        loop_until(w.n_beats > beats);
        uint64_t failed_ms = clock_boot_us() / USEC_PER_MSEC;
        fake_systemd_set(systemd, "web.service", "failed", "failed", "exit-code");
        uv_sleep(50); // a beat is due
        beats = w.n_beats;
        loop_until(w.n_beats > beats);
        if (report_of("web.service")->active != ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                assert_true(w.reported_ms <= failed_ms);
        loop_until(w.reported_ms > failed_ms);
        assert_int_equal(report_of("web.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
}

static Argosy__Probation probation_of(const char *name) {
        return report_of(name)->probation;
}

static void start_web(void) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        assert_int_equal(probation_of("web.service"), ARGOSY__PROBATION__PROBATION_ON);
}

// No report for each of them: one word for all that have lived long enough.
static void a_mark_says_that_processes_have_lived_long_enough(void **state) {
        start_web();
        uint64_t began_ms = report_of("web.service")->probation_ms;
        assert_true(w.lived_ms < began_ms);
        unsigned n = (unsigned) agent_stats(w.agent).reports;
        loop_until(w.lived_ms >= began_ms);
        assert_true(clock_boot_us() / USEC_PER_MSEC >= began_ms + PROBATION_MS);
        assert_int_equal(agent_stats(w.agent).reports, n);
        // A leader that comes later is told so.
        w.term++;
        w.lived_ms = 0;
        meet_leader(NULL, 0);
        assert_int_equal(w.attach->attach->held[0]->probation, ARGOSY__PROBATION__PROBATION_PASSED);
}

static void a_leader_that_comes_meanwhile_is_told_the_mark(void **state) {
        Order order = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        start_web();
        uint64_t began_ms = report_of("web.service")->probation_ms;
        w.term++;
        meet_leader(&order, 1);
        assert_int_equal(w.attach->attach->held[0]->probation, ARGOSY__PROBATION__PROBATION_ON);
        loop_until(w.lived_ms >= began_ms);
}

// While this process stood still it had time enough to live, and did not.
static void a_process_that_died_unheard_has_not_lived(void **state) {
        start_web();
        uint64_t began_ms = report_of("web.service")->probation_ms;
        fake_systemd_restart(systemd, "web.service", "exit-code", true);
        uv_sleep(PROBATION_MS + 50); // nothing of that was read
        agent_probation_pass(w.agent); // a turn may come by here before it reads
        loop_until(w.lived_ms >= began_ms ||
                   probation_of("web.service") == ARGOSY__PROBATION__PROBATION_RESTARTED);
        assert_true(w.lived_ms < began_ms);
}

// systemd may have begun the next run before it says that the first has ended.
static void is_restarted_at_once(bool told) {
        start_web();
        fake_systemd_restart(systemd, "web.service", "exit-code", told);
        loop_until(probation_of("web.service") == ARGOSY__PROBATION__PROBATION_RESTARTED);
        assert_true(w.lived_ms < report_of("web.service")->changed_ms);
}

static void a_process_that_is_restarted_at_once_has_not_started(void **state) {
        is_restarted_at_once(true);
}

static void a_process_of_which_only_the_next_run_is_told_has_not_started(void **state) {
        is_restarted_at_once(false);
}

static void a_process_that_ended_well_is_waited_for_as_long(void **state) {
        start_web();
        fake_systemd_set(systemd, "web.service", "inactive", "dead", "success");
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        uint64_t now_ms = clock_boot_us() / USEC_PER_MSEC;
        assert_int_equal(probation_of("web.service"), ARGOSY__PROBATION__PROBATION_ON);
        assert_true(report_of("web.service")->probation_ms > now_ms + PROBATION_MS); // no mark is about it
        loop_until(probation_of("web.service") == ARGOSY__PROBATION__PROBATION_ENDED);
        assert_true(clock_boot_us() / USEC_PER_MSEC + 5 >= now_ms + PROBATION_MS);
}

static void what_is_started_again_after_it_ended_well_has_not_started(void **state) {
        start_web();
        fake_systemd_set(systemd, "web.service", "inactive", "dead", "success");
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        fake_systemd_set(systemd, "web.service", "activating", "auto-restart", "success");
        loop_until(probation_of("web.service") == ARGOSY__PROBATION__PROBATION_RESTARTED);
}

static void what_fails_later_had_started(void **state) {
        start_web();
        loop_until(w.lived_ms >= report_of("web.service")->probation_ms);
        fake_systemd_restart(systemd, "web.service", "exit-code", true);
        loop_until(report_of("web.service")->restarts == 1);
        assert_int_equal(probation_of("web.service"), ARGOSY__PROBATION__PROBATION_PASSED);
        // The next start is judged anew, and what is up anyway has nothing to prove.
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 6, .start = 6});
        assert_int_equal(probation_of("web.service"), ARGOSY__PROBATION__PROBATION_NONE);
}

static void what_fails_and_is_restarted_again_and_again_loops(void **state) {
        start_web();
        for (int i = 0; i < 3; i++) {
                fake_systemd_restart(systemd, "web.service", i == 1 ? "success" : "exit-code", true);
                loop_until(report_of("web.service")->restarts == (uint32_t) i + 1);
                assert_false(report_of("web.service")->looping);
        }
        assert_int_equal(report_of("web.service")->failed_restarts, 2); // the other one had ended well
        fake_systemd_restart(systemd, "web.service", "signal", true);
        loop_until(report_of("web.service")->looping);
        fake_systemd_set(systemd, "web.service", "failed", "failed", "exit-code"); // systemd gives it up
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_false(report_of("web.service")->looping);
}

// Who begins while it runs asks, when nothing else is to be asked.
static void what_happened_before_argosyd_began_is_asked_for(void **state) {
        Order order = {.name = "web.service", .content = web, .revision = 5, .start = 5};
        uint64_t since_us;

        start_web();
        fake_systemd_restart(systemd, "web.service", "exit-code", true);
        loop_until(report_of("web.service")->restarts == 1);
        since_us = report_of("web.service")->since_us;
        agent_restart();
        w.term++;
        meet_leader(&order, 1);
        loop_until(report_of("web.service")->restarts == 1 &&
                   report_of("web.service")->since_us == since_us);
        assert_int_equal(report_of("web.service")->failed_restarts, 0); // of what, nobody knows
}

// So many jobs are under way that never end, and these units run.
static void meet_leader_with_many_jobs(uint32_t beat_ms, const char *const *running, int n) {
        Order all[REPORT_GATHER_JOBS + 8] = {};

        a_hundred_instances();
        w.beat_ms = beat_ms;
        meet_leader(NULL, 0);
        for (int i = 0; i < n; i++) {
                order_and_wait((Order){.name = running[i], .content = web, .revision = 5, .start = 5});
        }
        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                fake_systemd_behave(systemd, names[i], FAKE_HANGS);
                all[i] = orders[i];
        }
        send_orders(all, ELEMENTSOF(all));
        loop_until(fake_systemd_calls(systemd, "StartUnit") == (unsigned) n + SYSTEMD_JOBS_MAX);
}

static const char *const running[] = {"a.service", "b.service", "c.service", "d.service", "e.service"};

static void while_many_jobs_are_under_way_reports_leave_together(void **state) {
        meet_leader_with_many_jobs(10000, running, ELEMENTSOF(running));
        w.reports_gap_us = UINT64_MAX;
        for (size_t i = 0; i < ELEMENTSOF(running); i++) {
                fake_systemd_set(systemd, running[i], "failed", "failed", "exit-code");
                loop_until(report_of(running[i])->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        }
        assert_in_range(w.reports_gap_us, REPORT_GATHER_US, 1000 * 1000);
}

static void reports_that_wait_for_more_leave_with_the_next_beat(void **state) {
        meet_leader_with_many_jobs(2, running, ELEMENTSOF(running));
        w.reports_gap_us = UINT64_MAX;
        for (size_t i = 0; i < ELEMENTSOF(running); i++) {
                fake_systemd_set(systemd, running[i], "failed", "failed", "exit-code");
                loop_until(report_of(running[i])->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        }
        assert_in_range(w.reports_gap_us, 0, REPORT_GATHER_US - 1);
}

static void a_oneshot_ends_and_is_told_as_done(void **state) {
        fake_systemd_behave(systemd, "job.service", FAKE_ENDS);
        meet_leader(NULL, 0);
        send_order((Order){.name = "job.service", .content = job, .revision = 5, .start = 5});
        loop_until(answered("job.service", 5) && report_of("job.service")->outcome);
        assert_int_equal(report_of("job.service")->outcome->kind, ARGOSY__OUTCOME__KIND__DONE);
        assert_int_equal(fake_systemd_calls(systemd, "StartUnit"), 2); // its pin and itself
}

static void a_failed_start_says_why(void **state) {
        fake_systemd_behave(systemd, "bad.service", FAKE_FAILS);
        fake_systemd_behave(systemd, "odd.service", FAKE_BAD_SETTING);
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "bad.service", .content = bad, .revision = 5, .start = 5},
                              {.name = "odd.service", .content = web, .revision = 6, .start = 6},
                              {.name = "web.service", .content = web2, .revision = 7, .start = 7}},
                    3);
        loop_until(answered("bad.service", 5) && answered("odd.service", 6) && answered("web.service", 7));
        assert_int_equal(report_of("bad.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        assert_true(*report_of("bad.service")->error && *report_of("odd.service")->error);
        assert_true(runs("web.service"));
}

static void new_content_is_taken_up_with_and_without_a_pin(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        order_and_wait(o);
        o.content = web2;
        o.revision = 6;
        order_and_wait(o);
        assert_true(runs("web.service"));
        assert_int_equal(fake_systemd_calls(systemd, "Reload"), 0);
        fake_systemd_pin(systemd, "web.service", true);
        o.content = web;
        o.revision = 7;
        order_and_wait(o);
        assert_true(runs("web.service"));
        assert_int_equal(fake_systemd_calls(systemd, "Reload"), 1);
        assert_false(report_of("web.service")->file_stale);
}

// Between its stop and the write somebody pins the unit, which loads the old file, and we hear of it late.
static void what_was_loaded_too_early_is_noticed(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        order_and_wait(o);
        o.content = web2;
        o.revision = 6;
        send_order(o);
        loop_until(!fake_systemd_active(systemd, "web.service"));
        fake_systemd_busy(systemd, true);
        fake_systemd_pin(systemd, "web.service", true);
        loop_until(answered("web.service", 6));
        fake_systemd_busy(systemd, false);
        loop_until(fake_systemd_is_current(systemd, "web.service") && runs("web.service"));
        loop_until(!report_of("web.service")->file_stale &&
                   report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_int_equal(fake_systemd_calls(systemd, "Reload"), 1);
        assert_int_equal(fake_systemd_calls(systemd, "StartUnit"), 3);
}

// Failed and pinned by somebody: it leaves no memory, and forgets its failure first.
static void a_failed_unit_that_is_pinned_takes_new_content_up(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        order_and_wait(o);
        fake_systemd_pin(systemd, "web.service", true);
        fake_systemd_set(systemd, "web.service", "failed", "failed", "signal");
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
        fake_systemd_busy(systemd, true); // the reset is told late
        o.content = web2;
        o.revision = o.start = 6;
        send_order(o);
        loop_until(fake_systemd_calls(systemd, "StartUnit") == 2);
        fake_systemd_busy(systemd, false);
        loop_until(answered("web.service", 6));
        assert_true(fake_systemd_is_current(systemd, "web.service") && runs("web.service"));
        assert_int_equal(fake_systemd_calls(systemd, "ResetFailedUnit"), 1);
        assert_int_equal(fake_systemd_calls(systemd, "Reload"), 1);
        assert_int_equal(fake_systemd_calls(systemd, "StopUnit"), 0);
}

// Somebody else reloads between the write and our own reload: that one is spared.
static void a_reload_of_somebody_else_is_as_good_as_ours(void **state) {
        Order o = {.name = "web.service", .content = web, .revision = 5, .start = 5};

        meet_leader(NULL, 0);
        order_and_wait(o);
        fake_systemd_pin(systemd, "web.service", true);
        o.content = web2;
        o.revision = 6;
        send_order(o);
        loop_until(!fake_systemd_is_current(systemd, "web.service")); // written
        loop_until(report_of("web.service")->file_stale);
        fake_systemd_reload_begin(systemd);
        fake_systemd_reload_end(systemd);
        loop_until(answered("web.service", 6));
        assert_true(fake_systemd_is_current(systemd, "web.service") && runs("web.service"));
        assert_int_equal(fake_systemd_calls(systemd, "Reload"), 0);
        assert_false(report_of("web.service")->file_stale);
}

static void others_may_reload_and_reexec_at_any_time(void **state) {
        a_hundred_instances();
        meet_leader(NULL, 0);
        send_orders(orders, N / 2);
        loop_until(answered(names[0], 5));
        fake_systemd_reload_begin(systemd);
        send_orders(orders + N / 2, N / 2);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        fake_systemd_reload_end(systemd);
        loop_until(answered(names[N / 2], 5));
        fake_systemd_reexec(systemd);
        all_run();
        assert_int_equal(fake_systemd_calls(systemd, "StopUnit"), 0);
}

static void a_stop_by_hand_is_seen_as_drift(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        fake_systemd_stop(systemd, "web.service");
        loop_until(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        assert_int_equal(fake_systemd_calls(systemd, "StartUnit"), 1);
}

static const struct {
        const char *property, *other, *state, *sub;
        Argosy__DownCause cause;
} stops[] = {
        {"ConflictedBy", "rival.service", "active", "running", ARGOSY__DOWN_CAUSE__DOWN_CONFLICT},
        {"BindsTo", "base.service", "inactive", "dead", ARGOSY__DOWN_CAUSE__DOWN_BOUND},
        {"PartOf", "group.target", "deactivating", "stop", ARGOSY__DOWN_CAUSE__DOWN_BOUND},
        {"PartOf", "group.target", "active", "active", ARGOSY__DOWN_CAUSE__DOWN_STOPPED},
};

// One start, stop and question for each row; a start forgets what was found.
static void a_stop_for_another_unit_is_systemds_doing(void **state) {
        meet_leader(NULL, 0);
        for (size_t i = 0; i < ELEMENTSOF(stops); i++) {
                _cleanup_free_ char *name = str_printf("web%zu.service", i);
                unsigned asked;

                send_order((Order){.name = name, .content = web, .revision = 5 + i, .start = 5 + i});
                loop_until(answered(name, 5 + i));
                fake_systemd_add(systemd, stops[i].other, FAKE_RUNS);
                fake_systemd_pin(systemd, stops[i].other, true);
                fake_systemd_list(systemd, name, stops[i].property, stops[i].other);
                fake_systemd_set(systemd, stops[i].other, stops[i].state, stops[i].sub, "success");
                asked = fake_systemd_calls(systemd, "GetAll");
                fake_systemd_stop(systemd, name);
                loop_until(report_of(name)->down == stops[i].cause);
                assert_string_equal(report_of(name)->down_by,
                                    stops[i].cause == ARGOSY__DOWN_CAUSE__DOWN_STOPPED ? ""
                                                                                       : stops[i].other);
                assert_int_equal(fake_systemd_calls(systemd, "GetAll"), asked + 2);
        }
}

static void the_next_start_forgets_for_whom_it_was_stopped(void **state) {
        a_stop_for_another_unit_is_systemds_doing(state);
        order_and_wait((Order){.name = "web0.service", .content = web, .revision = 9, .start = 9});
        assert_int_equal(report_of("web0.service")->down, ARGOSY__DOWN_CAUSE__DOWN_NOT);
        assert_string_equal(report_of("web0.service")->down_by, "");
}

static void what_ends_by_itself_is_nobodys_doing(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        fake_systemd_set(systemd, "web.service", "inactive", "dead", "success");
        loop_until(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_ENDED);
        assert_int_equal(fake_systemd_calls(systemd, "StartUnit"), 1);
}

static void what_systemd_skips_is_said_with_its_condition(void **state) {
        static const char conditional[] =
                "[Unit]\nConditionPathExists=/nowhere\n[Service]\nExecStart=/bin/sleep 1\n";

        fake_systemd_behave(systemd, "web.service", FAKE_SKIPS);
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = conditional, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5) &&
                   report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_SKIPPED);
        assert_string_equal(report_of("web.service")->down_by, "ConditionPathExists=/nowhere");
        assert_string_equal(report_of("web.service")->error, "");
        fake_systemd_behave(systemd, "web.service", FAKE_RUNS);
        send_order((Order){.name = "web.service", .content = conditional, .revision = 6, .start = 6});
        loop_until(answered("web.service", 6) &&
                   report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_NOT);
}

// Told one by one, that an order has come, its file is written, systemd has it and it is active would be
// five.
static void what_a_start_goes_through_is_told_with_its_end(void **state) {
        enum { STARTS = 10 };
        char web_names[STARTS][32];
        Order wanted[STARTS];

        meet_leader(NULL, 0);
        for (unsigned i = 0; i < STARTS; i++) {
                snprintf(web_names[i], sizeof(web_names[i]), "web%u.service", i);
                wanted[i] = (Order){.name = web_names[i], .content = web, .revision = 5 + i, .start = 5 + i};
        }
        send_orders(wanted, STARTS);
        for (unsigned i = 0; i < STARTS; i++)
                loop_until(answered(web_names[i], 5 + i));
        assert_in_range(agent_stats(w.agent).reports, STARTS, 2 * STARTS);
        for (unsigned i = 0; i < STARTS; i++)
                assert_int_equal(report_of(web_names[i])->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

// Many changes of one unit make few reports, the last one is true, and the neighbour does not notice.
static void a_crash_loop_costs_few_reports(void **state) {
        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "bad.service", .content = web, .revision = 5, .start = 5},
                              {.name = "web.service", .content = web, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("bad.service", 5) && answered("web.service", 6));
        unsigned before = w.n_report_messages;
        for (int i = 0; i < 500; i++) {
                fake_systemd_set(systemd, "bad.service", "activating", "auto-restart", "exit-code");
                uv_run(&test_loop, UV_RUN_NOWAIT);
                fake_systemd_set(systemd, "bad.service", "active", "running", "success");
                uv_run(&test_loop, UV_RUN_NOWAIT);
        }
        assert_in_range(w.n_report_messages - before, 2, 20);
        unsigned n = w.n_report_messages;
        fake_systemd_set(systemd, "bad.service", "failed", "failed", "signal");
        fake_systemd_set(systemd, "web.service", "failed", "failed", "signal");
        while (report_of("web.service")->active != ARGOSY__ACTIVE_STATE__ACTIVE_FAILED)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_int_equal(w.n_report_messages, n + 1);
        loop_until(report_of("bad.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
}

// Somebody waits for the answer to an order. A report that keeps the pace would take a second, each time; of
// several answers one may meet a machine that does something else.
static void an_order_for_a_crashing_unit_is_answered_at_once(void **state) {
        Order o = {.name = "bad.service", .content = web, .revision = 5, .start = 5};
        uint64_t fastest = UINT64_MAX;

        meet_leader(NULL, 0);
        order_and_wait(o);
        for (int i = 0; i < 50; i++) {
                fake_systemd_set(systemd, "bad.service", "activating", "auto-restart", "exit-code");
                uv_run(&test_loop, UV_RUN_NOWAIT);
                fake_systemd_set(systemd, "bad.service", "active", "running", "success");
                uv_run(&test_loop, UV_RUN_NOWAIT);
        }
        o.loaded_only = true;
        for (unsigned revision = 6; revision < 10; revision++) {
                uint64_t begin = uv_hrtime();

                o.revision = o.stop = revision;
                send_order(o);
                loop_until(answered("bad.service", revision));
                fastest = MIN_OF(fastest, uv_hrtime() - begin);
        }
        assert_true(fastest < 800 * UINT64_C(1000000));
        assert_int_equal(report_of("bad.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
}

static void an_active_name_that_is_not_ours_is_refused(void **state) {
        fake_systemd_add(systemd, "theirs.service", FAKE_RUNS);
        fake_systemd_set(systemd, "theirs.service", "active", "running", "success");
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "theirs.service", .content = web, .revision = 5, .start = 5});
        assert_true(report_of("theirs.service")->refused);
        assert_false(has_file("theirs.service"));
}

static void a_shutdown_is_heard(void **state) {
        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        fake_systemd_shutdown(systemd);
        loop_until(w.stopping);
        assert_true(w.goodbye->goodbye->stopping);
        fake_systemd_set(systemd, "web.service", "inactive", "dead", "success");
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        assert_false(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
}

static void after_a_cancelled_shutdown_units_start_again(void **state) {
        uint64_t seq;

        meet_leader(NULL, 0);
        send_orders((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5},
                              {.name = "up.service", .content = web, .revision = 6, .start = 6}},
                    2);
        loop_until(answered("web.service", 5) && answered("up.service", 6));
        fake_systemd_shutdown(systemd);
        loop_until(w.stopping);
        fake_systemd_set(systemd, "web.service", "inactive", "dead", "success");
        loop_until(report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        seq = w.attach->attach->seq;
        fake_systemd_cancel_shutdown(systemd);
        loop_until(w.attach->attach->seq != seq); // so the leader knows
        assert_false(agent_is_stopping(w.agent));
        welcome_until(((Order[]){{.name = "web.service", .content = web, .revision = 5, .start = 5},
                                 {.name = "up.service", .content = web, .revision = 6, .start = 6}}),
                      2, report_of("web.service")->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_false(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        assert_int_equal(fake_systemd_calls(systemd, "StartUnit"), 3);
}

static void removal_leaves_nothing(void **state) {
        a_hundred_instances();
        meet_leader(NULL, 0);
        send_orders(orders, N);
        all_run();
        w.term++;
        meet_leader(NULL, 0); // a Welcome that names none of them
        for (int i = 0; i < N; i++)
                loop_until(is_gone(names[i]));
        assert_int_equal(agent_n_units(w.agent), 0);
        assert_false(has_file("web@.service") || has_file("web@.service.d"));
        for (int i = 0; i < N; i++)
                assert_false(runs(names[i]));
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

RUN_TESTS(
        WORLD_TEST(a_hundred_units_start_and_survive_argosyd),
        WORLD_TEST(the_connection_may_break_anywhere),
        WORLD_TEST(the_end_of_a_job_may_come_before_the_change),
        WORLD_TEST(a_report_says_when_it_happened_and_a_beat_until_when_all_was_told),
        WORLD_TEST(what_was_not_read_yet_was_not_told_either),
        WORLD_TEST(a_mark_says_that_processes_have_lived_long_enough),
        WORLD_TEST(a_leader_that_comes_meanwhile_is_told_the_mark),
        WORLD_TEST(a_process_that_died_unheard_has_not_lived),
        WORLD_TEST(a_process_that_is_restarted_at_once_has_not_started),
        WORLD_TEST(a_process_of_which_only_the_next_run_is_told_has_not_started),
        WORLD_TEST(a_process_that_ended_well_is_waited_for_as_long),
        WORLD_TEST(what_is_started_again_after_it_ended_well_has_not_started),
        WORLD_TEST(what_fails_later_had_started),
        WORLD_TEST(what_fails_and_is_restarted_again_and_again_loops),
        WORLD_TEST(what_happened_before_argosyd_began_is_asked_for),
        WORLD_TEST(while_many_jobs_are_under_way_reports_leave_together),
        WORLD_TEST(reports_that_wait_for_more_leave_with_the_next_beat),
        WORLD_TEST(a_oneshot_ends_and_is_told_as_done),
        WORLD_TEST(a_failed_start_says_why),
        WORLD_TEST(new_content_is_taken_up_with_and_without_a_pin),
        WORLD_TEST(what_was_loaded_too_early_is_noticed),
        WORLD_TEST(a_failed_unit_that_is_pinned_takes_new_content_up),
        WORLD_TEST(a_reload_of_somebody_else_is_as_good_as_ours),
        WORLD_TEST(others_may_reload_and_reexec_at_any_time),
        WORLD_TEST(a_stop_by_hand_is_seen_as_drift),
        WORLD_TEST(a_stop_for_another_unit_is_systemds_doing),
        WORLD_TEST(the_next_start_forgets_for_whom_it_was_stopped),
        WORLD_TEST(what_ends_by_itself_is_nobodys_doing),
        WORLD_TEST(what_systemd_skips_is_said_with_its_condition),
        WORLD_TEST(what_a_start_goes_through_is_told_with_its_end),
        WORLD_TEST(a_crash_loop_costs_few_reports),
        WORLD_TEST(an_order_for_a_crashing_unit_is_answered_at_once),
        WORLD_TEST(an_active_name_that_is_not_ours_is_refused),
        WORLD_TEST(a_shutdown_is_heard),
        WORLD_TEST(after_a_cancelled_shutdown_units_start_again),
        WORLD_TEST(removal_leaves_nothing)
)
