// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How steps begin: what is recorded before, in which order ledger and systemd hear of it, and who is planned
// when. The agent is whole, PID 1 is in memory; between ledger, systemd and the steps stand the functions
// below, which look and may refuse.
#include "agent-rig.h"

#include "agent-private.h"
#include "clock.h"
#include "fake-pid1.h"

static FakePid1 *pid1;

static struct Between {
        bool unflushed; // something was put into the ledger and is not written yet
        int flush_error, forget_error, pin_error;
        unsigned n_puts, n_forgets, n_loads, n_loaded;
        LedgerRecord last; // name: below
        char last_name[256];
} between;

int __real_ledger_put(Ledger *l, const LedgerRecord *record);
int __wrap_ledger_put(Ledger *l, const LedgerRecord *record);
int __real_ledger_forget(Ledger *l, const char *name);
int __wrap_ledger_forget(Ledger *l, const char *name);
int __real_ledger_flush(Ledger *l);
int __wrap_ledger_flush(Ledger *l);
int __real_systemd_manager_job_of(SystemdManager *m, uint64_t request, SystemdJobKind kind, const char *name,
                                  SystemdJobDone done, void *userdata);
int __wrap_systemd_manager_job_of(SystemdManager *m, uint64_t request, SystemdJobKind kind, const char *name,
                                  SystemdJobDone done, void *userdata);
int __real_systemd_manager_load(SystemdManager *m, const char *const *names, size_t n, SystemdLoaded each,
                                void *userdata);
int __wrap_systemd_manager_load(SystemdManager *m, const char *const *names, size_t n, SystemdLoaded each,
                                void *userdata);
int __real_systemd_manager_pin(SystemdManager *m, uint64_t request, const char *unit, bool pin,
                               SystemdJobDone done, void *userdata);
int __wrap_systemd_manager_pin(SystemdManager *m, uint64_t request, const char *unit, bool pin,
                               SystemdJobDone done, void *userdata);

int __wrap_ledger_put(Ledger *l, const LedgerRecord *record) {
        between.unflushed = true;
        between.n_puts++;
        between.last = *record;
        snprintf(between.last_name, sizeof(between.last_name), "%s", record->name);
        return __real_ledger_put(l, record);
}

int __wrap_ledger_forget(Ledger *l, const char *name) {
        if (between.forget_error < 0)
                return between.forget_error;
        between.n_forgets++;
        return __real_ledger_forget(l, name);
}

int __wrap_ledger_flush(Ledger *l) {
        if (between.flush_error < 0)
                return between.flush_error;
        between.unflushed = false;
        return __real_ledger_flush(l);
}

int __wrap_systemd_manager_job_of(SystemdManager *m, uint64_t request, SystemdJobKind kind, const char *name,
                                  SystemdJobDone done, void *userdata) {
        assert_false(between.unflushed);
        return __real_systemd_manager_job_of(m, request, kind, name, done, userdata);
}

int __wrap_systemd_manager_load(SystemdManager *m, const char *const *names, size_t n, SystemdLoaded each,
                                void *userdata) {
        assert_false(between.unflushed);
        between.n_loads++;
        between.n_loaded += n;
        return __real_systemd_manager_load(m, names, n, each, userdata);
}

int __wrap_systemd_manager_pin(SystemdManager *m, uint64_t request, const char *unit, bool pin,
                               SystemdJobDone done, void *userdata) {
        assert_false(between.unflushed);
        if (between.pin_error < 0)
                return between.pin_error;
        return __real_systemd_manager_pin(m, request, unit, pin, done, userdata);
}

FIXTURE(world_up) {
        between = (struct Between){};
        rig_up();
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        meet_leader(NULL, 0);
}

static int world_down(void **state) {
        if (w.agent)
                agent_down();
        pid1 = pid1_free(pid1);
        return rig_down();
}

// ---- words for the stories

static AgentNode *node(void) {
        return w.agent->system;
}

static AgentUnit *unit(const char *name) {
        AgentUnit *u = agent_unit_find(node(), name);

        assert_non_null(u);
        return u;
}

static Order loaded(const char *name, uint64_t revision) {
        return (Order){.name = name, .content = web, .loaded_only = true, .revision = revision};
}

static Order launched(const char *name, uint64_t revision) {
        return (Order){.name = name, .content = web, .revision = revision, .start = revision};
}

static size_t n_dirty(void) {
        size_t n = 0;

        list_foreach (i, &node()->dirty)
                n++;
        return n;
}

static bool has_error(const char *name, const char *text) {
        const AgentUnitWork *work = agent_unit_doing(unit(name));

        return work->error && strstr(work->error, text);
}

// ---- who is planned when

static void one_turn_plans_so_many_units_and_no_more(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service", "d.service", "e.service"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                order_and_wait(loaded(names[i], 5));
        assert_int_equal(n_dirty(), 0);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                agent_unit_mark(unit(names[i]));
        drain_unmark(&w.agent->drain);
        agent_node_plan(node(), 2);
        assert_int_equal(n_dirty(), 3);
        assert_true(w.agent->drain.marked); // the rest has its turn
        agent_node_plan(node(), 3);
        assert_int_equal(n_dirty(), 0);
}

static void nothing_is_planned_before_systemd_is_known(void **state) {
        order_and_wait(launched("web.service", 5));
        pid1_disconnect(pid1);
        agent_unit_mark(unit("web.service"));
        agent_node_plan(node(), 100);
        assert_int_equal(n_dirty(), 1);
        pid1_reconnect(pid1);
        loop_until(n_dirty() == 0);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
}

// Of two that wait, each is planned again at its own time.
static void who_waits_is_woken_when_its_time_has_come(void **state) {
        const uint64_t soon = clock_boot_us() + 1000 * USEC_PER_SEC, later = soon + 1;

        order_and_wait(loaded("soon.service", 5));
        order_and_wait(loaded("later.service", 5));
        between.flush_error = -ENOSPC;
        send_orders((Order[]){launched("soon.service", 6), launched("later.service", 6)}, 2);
        loop_until(has_error("soon.service", "") && has_error("later.service", ""));
        between.flush_error = 0;
        unit("soon.service")->work->retry_us = soon;
        unit("later.service")->work->retry_us = later;
        agent_unit_mark(unit("soon.service"));
        agent_unit_mark(unit("later.service"));
        agent_node_plan(node(), 100);
        assert_int_equal(n_dirty(), 0);
        assert_int_equal(agent_node_next_wake(node()), soon);
        agent_node_wake(node(), soon - 1);
        assert_int_equal(n_dirty(), 0);
        agent_node_wake(node(), soon);
        assert_int_equal(n_dirty(), 1);
        assert_true(list_is_linked(&unit("soon.service")->dirty));
        assert_int_equal(agent_node_next_wake(node()), later);
}

static void loads_of_one_turn_leave_together(void **state) {
        enum { N = 20 };
        static char names[N][32];
        Order orders[N];

        for (int i = 0; i < N; i++) {
                snprintf(names[i], sizeof(names[i]), "web@%i.service", i);
                orders[i] = loaded(names[i], 5);
                orders[i].from_template = true;
        }
        send_orders(orders, N);
        for (int i = 0; i < N; i++)
                loop_until(answered(names[i], 5));
        assert_int_equal(between.n_loaded, N);
        assert_int_equal(between.n_loads, 1);
}

// ---- the ledger first

// That it is so at every job and load of this, the functions above see to.
static void systemd_hears_of_nothing_that_is_not_in_the_ledger(void **state) {
        Order o = launched("web.service", 5);

        order_and_wait(o);
        o.revision = o.restart = 6;
        order_and_wait(o);
        o.content = web2;
        o.revision = 7;
        order_and_wait(o);
        o.revision = o.stop = 8;
        o.loaded_only = true;
        order_and_wait(o);
        send_order((Order){.name = "web.service", .remove = true, .revision = 9});
        loop_until(is_gone("web.service"));
        assert_true(between.n_puts >= 5);
        assert_int_equal(between.n_forgets, 1);
        assert_int_equal(pid1_runs(pid1, "web.service"), 3);
}

static void what_the_ledger_cannot_take_is_not_begun(void **state) {
        order_and_wait(loaded("web.service", 5));
        between.flush_error = -ENOSPC;
        send_order(launched("web.service", 6));
        loop_until(has_error("web.service", "cannot write the ledger: "));
        assert_int_equal(pid1_n_jobs(pid1), 0);
        assert_int_equal(unit("web.service")->work->busy, PLAN_NOTHING);
        assert_true(unit("web.service")->work->retry_us > clock_boot_us());
        assert_false(unit("web.service")->unwatched); // promised, and certainly not started
        between.flush_error = 0;
        unit("web.service")->work->retry_us = 0; // its time has come
        agent_unit_mark(unit("web.service"));
        loop_until(answered("web.service", 6) && !*report_of("web.service")->error);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
}

static void a_removal_is_told_when_the_ledger_has_forgotten(void **state) {
        order_and_wait(launched("web.service", 5));
        between.forget_error = -EIO;
        send_order((Order){.name = "web.service", .remove = true, .revision = 6});
        loop_until(has_error("web.service", strerror(EIO)));
        assert_false(is_gone("web.service"));
        assert_false(has_file("web.service"));
        between.forget_error = 0;
        unit("web.service")->work->retry_us = 0;
        agent_unit_mark(unit("web.service"));
        loop_until(is_gone("web.service"));
        assert_int_equal(between.n_forgets, 1);
        assert_int_equal(agent_n_units(w.agent), 0);
}

// ---- what is recorded

static void a_start_is_promised_and_then_fulfilled(void **state) {
        AgentHeld *held;

        pid1_hold_jobs(pid1, true);
        send_order(loaded("web.service", 5));
        loop_until(agent_unit_find(node(), "web.service") && pid1_n_held(pid1) == 1); // its load
        pid1_hold_jobs(pid1, false);
        loop_until(answered("web.service", 5));
        held = &unit("web.service")->held;
        pid1_hold_jobs(pid1, true);
        send_order(launched("web.service", 6));
        loop_until(pid1_n_held(pid1) == 1);
        assert_int_equal(unit("web.service")->work->busy, PLAN_START);
        assert_true(held->pending && between.last.pending);
        assert_string_equal(between.last_name, "web.service");
        assert_int_equal(between.last.start_rev, 6);
        assert_int_equal(between.last.target, ARGOSY__TARGET__TARGET_LAUNCHED);
        assert_int_equal(held->revision, 5); // that order is not finished
        pid1_hold_jobs(pid1, false);
        loop_until(answered("web.service", 6));
        assert_false(held->pending || between.last.pending);
        assert_int_equal(between.last.revision, 6);
        assert_memory_equal(held->invocation_id, unit("web.service")->watch.runtime.invocation_id, 16);
}

// So that after a crash the next run can be told from it; that one may be somebody else's.
static void a_restart_keeps_the_run_before_it(void **state) {
        Order o = launched("web.service", 5);
        uint8_t before[16];

        order_and_wait(o);
        pid1_stop(pid1, "web.service");
        pid1_start(pid1, "web.service");
        loop_until(n_dirty() == 0);
        memcpy(before, unit("web.service")->watch.runtime.invocation_id, 16);
        pid1_hold_jobs(pid1, true);
        o.revision = o.restart = 6;
        send_order(o);
        loop_until(pid1_n_held(pid1) == 1);
        assert_int_equal(unit("web.service")->work->busy, PLAN_RESTART);
        assert_true(between.last.pending);
        assert_int_equal(between.last.restart_rev, 6);
        assert_memory_equal(between.last.invocation_id, before, 16);
        pid1_hold_jobs(pid1, false);
        loop_until(answered("web.service", 6));
        assert_memory_not_equal(between.last.invocation_id, before, 16);
}

static void the_end_of_a_oneshot_is_recorded(void **state) {
        static const char *const names[] = {"good.service", "bad.service"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                bool well = i == 0;

                send_order((Order){.name = names[i], .content = job, .revision = 5, .start = 5});
                loop_until(pid1_runs(pid1, names[i]) == 1);
                pid1_finish(pid1, names[i], well);
                loop_until(answered(names[i], 5) && report_of(names[i])->outcome);
                assert_int_equal(unit(names[i])->held.done, well);
                assert_int_equal(unit(names[i])->held.failed, !well);
                assert_false(unit(names[i])->held.pending);
        }
}

static void a_unit_at_rest_is_looked_at_without_a_record(void **state) {
        unsigned puts;

        order_and_wait(launched("web.service", 5));
        puts = between.n_puts;
        for (int i = 0; i < 3; i++) {
                agent_unit_mark(unit("web.service"));
                agent_node_plan(node(), 100);
        }
        assert_int_equal(between.n_puts, puts);
        agent_unit_record(unit("web.service"));
        assert_int_equal(between.n_puts, puts + 1);
}

// ---- steps and their answers

static void each_step_has_a_number_of_its_own(void **state) {
        _cleanup_free_ AgentStepCall *first = NULL, *second = NULL;

        order_and_wait(loaded("web.service", 5));
        pid1_hold_jobs(pid1, true);
        send_order(launched("web.service", 6));
        loop_until(pid1_n_held(pid1) == 1);
        first = agent_step_call_new(unit("web.service"));
        assert_ptr_equal(first->node, node());
        assert_string_equal(first->name, "web.service");
        assert_ptr_equal(agent_step_find(node(), "web.service", first->number), unit("web.service"));
        send_order((Order){.name = "web.service",
                           .content = web,
                           .loaded_only = true,
                           .revision = 7,
                           .start = 6,
                           .stop = 7});
        loop_until(pid1_n_held(pid1) == 2);
        second = agent_step_call_new(unit("web.service"));
        assert_true(second->number > first->number);
        assert_null(agent_step_find(node(), "web.service", first->number)); // a late answer changes nothing
        pid1_hold_jobs(pid1, false);
        loop_until(answered("web.service", 7));
        assert_false(pid1_is_active(pid1, "web.service"));
}

static void a_oneshot_whose_name_is_too_long_for_a_pin_starts_without(void **state) {
        between.pin_error = -ENAMETOOLONG;
        send_order((Order){.name = "job.service", .content = job, .revision = 5, .start = 5});
        loop_until(pid1_runs(pid1, "job.service") == 1);
        assert_true(unit("job.service")->pin_failed);
        assert_false(pid1_is_held(pid1, "job.service"));
        pid1_finish(pid1, "job.service", true);
        loop_until(answered("job.service", 5));
}

static void drift_is_told_once_and_lasts_until_the_next_start(void **state) {
        unsigned reported;

        order_and_wait(launched("web.service", 5));
        pid1_stop(pid1, "web.service");
        loop_until(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        reported = w.n_report_messages;
        agent_unit_mark(unit("web.service"));
        loop_until(n_dirty() == 0);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_int_equal(w.n_report_messages, reported);
        order_and_wait(launched("web.service", 6));
        assert_false(report_of("web.service")->down == ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
}

static void what_systemd_does_not_have_in_memory_has_no_state(void **state) {
        order_and_wait(loaded("web.service", 5)); // parsed, and dropped again
        assert_null(agent_unit_runtime(unit("web.service")));
        order_and_wait(launched("web.service", 6));
        assert_int_equal(agent_unit_runtime(unit("web.service"))->active,
                         ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

RUN_TESTS(
        WORLD_TEST(one_turn_plans_so_many_units_and_no_more),
        WORLD_TEST(nothing_is_planned_before_systemd_is_known),
        WORLD_TEST(who_waits_is_woken_when_its_time_has_come),
        WORLD_TEST(loads_of_one_turn_leave_together),
        WORLD_TEST(systemd_hears_of_nothing_that_is_not_in_the_ledger),
        WORLD_TEST(what_the_ledger_cannot_take_is_not_begun),
        WORLD_TEST(a_removal_is_told_when_the_ledger_has_forgotten),
        WORLD_TEST(a_start_is_promised_and_then_fulfilled),
        WORLD_TEST(a_restart_keeps_the_run_before_it),
        WORLD_TEST(the_end_of_a_oneshot_is_recorded),
        WORLD_TEST(a_unit_at_rest_is_looked_at_without_a_record),
        WORLD_TEST(each_step_has_a_number_of_its_own),
        WORLD_TEST(a_oneshot_whose_name_is_too_long_for_a_pin_starts_without),
        WORLD_TEST(drift_is_told_once_and_lasts_until_the_next_start),
        WORLD_TEST(what_systemd_does_not_have_in_memory_has_no_state)
)
