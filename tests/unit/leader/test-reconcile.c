// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks and who follows them: what is looked at when they are pulled, and that nobody decides or asks by
// what was before. Nothing else of the leader runs.
#include "disruption-budget.h"
#include "reconcile.h"
#include "printed.h"
#include "session-words.h"

#include "messages.h"
#include "scheduler.h"
#include "str.h"
#include "pending-requests.h"
#include "unit-marks.h"
#include "unit-record.h"

static void end_turn(void) {
        reconcile_pull(t.leader);
}

static DisruptionBudget *budget(void) {
        DisruptionBudget *g = disruption_budget_find(t.leader, "web@.service");

        assert_non_null(g);
        return g;
}

// An instance that runs on that node, whose host is in session.
static void run_instance(const char *name, uint32_t node) {
        put(name, node);
        attach(node);
        report(node, tables_report(&t, name, node));
        end_turn();
}

// ---- units

static void what_is_down_is_counted_when_the_turn_begins(void **state) {
        run_instance("web@1.service", 2);
        assert_int_equal(budget()->n_launched, 1);
        assert_int_equal(budget()->n_down, 0);
        Argosy__UnitReport r = tables_report(&t, "web@1.service", 2);
        r.active = ARGOSY__ACTIVE_STATE__ACTIVE_FAILED;
        report(2, r);
        report(2, r);
        assert_int_equal(tables_count(&t.leader->touched), 1); // however often it is seen
        end_turn();
        assert_int_equal(budget()->n_down, 1);
        assert_true(list_is_empty(&t.leader->touched));
}

static void what_runs_on_a_dark_node_counts_as_down(void **state) {
        Argosy__NodeReport r = MESSAGE_OF(node_report, .manager = (char *) "system",
                                          .reason = (char *) "it is being reloaded"),
                           *reports = &r;

        run_instance("web@1.service", 2);
        session_on_node_reports(t.leader, tables_host(&t, 2), &reports, 1);
        end_turn();
        assert_int_equal(budget()->n_down, 1);
        r.reason = (char *) "";
        session_on_node_reports(t.leader, tables_host(&t, 2), &reports, 1);
        end_turn();
        assert_int_equal(budget()->n_down, 0);
}

static void what_was_seen_on_a_host_that_goes_leaves_with_it(void **state) {
        Batch b = {};

        attach(2);
        report(2, tables_report(&t, "stray.service", 2)); // without a record
        end_turn();
        assert_non_null(unit_find(t.leader, "stray.service"));
        batch_host_remove(&b, 2);
        tables_apply(&t, &b);
        assert_null(unit_find(t.leader, "stray.service"));
        assert_null(node_find(t.leader, 2));
        assert_true(tables_host(&t, 2)->linked); // and that is all that is left of it
        leader_on_host_link(t.leader, 2, NULL);
        assert_null(host_find(t.leader, 2));
}

// Thousands at once, and nobody decides before the last of them.
static void of_many_that_were_touched_some_are_looked_at_in_each_turn(void **state) {
        enum { PULLED_MAX = 2048, UNITS = 2 * PULLED_MAX + 10 };
        uint64_t pulled = t.leader->n_pulled;

        for (unsigned i = 0; i < UNITS; i++) {
                unit_touch(t.leader, unit_get(t.leader, printed("u%u.service", i)));
        }
        assert_false(reconcile_pull(t.leader));
        assert_int_equal(t.leader->n_pulled - pulled, PULLED_MAX);
        assert_true(reconcile_turn(t.leader)); // goes no further
        assert_false(list_is_empty(&t.leader->touched));
        assert_int_equal(t.leader->n_pulled - pulled, 2 * PULLED_MAX);
        assert_false(reconcile_pull(t.leader)); // nor are more of those dropped whom nobody needs
        assert_int_equal(t.leader->n_pulled - pulled, UNITS);
        assert_int_equal(t.leader->units.count, UNITS - (PULLED_MAX - 10));
        assert_false(reconcile_pull(t.leader));
        assert_true(reconcile_pull(t.leader));
        assert_int_equal(t.leader->units.count, 0); // wherever it was in the list
}

// ---- refusals

// The node that a unit would be placed on now; 0: none takes it.
static uint32_t node_for(const char *name) {
        _cleanup_(scheduler_freep) Scheduler *p = scheduler_new(t.leader, 0);
        UnitOptions *options;
        SchedulerAnswer answer;

        assert_int_equal(unit_options_of(tables_entry(&t, name), &options), 0);
        assert_int_equal(scheduler_place(p, name, options, false, &answer), 0);
        unit_options_unref(options);
        return answer.node;
}

static void who_asks_for_a_node_knows_who_refuses_the_unit(void **state) {
        for (uint32_t i = 1; i <= 3; i++)
                attach(i);
        put("web.service", 0);
        Unit *u = tables_unit(&t, "web.service");
        assert_true(node_for("web.service") > 0);
        for (uint32_t i = 1; i <= 3; i++)
                unit_exclude(t.leader, u, i, "the name is taken");
        assert_int_equal(node_for("web.service"), 0); // also before the turn, when somebody asks why
        unit_forget_exclusions(t.leader, u, 2);
        assert_int_equal(node_for("web.service"), 2);
        host_forget_exclusions(t.leader, tables_host(&t, 1));
        unit_exclude(t.leader, u, 2, "again");
        assert_int_equal(node_for("web.service"), 1);
}

// ---- questions to nodes

static unsigned n_answers;

static void on_answer(const Argosy__Response *response, void *userdata) {
        n_answers++;
}

static void ask_status(const char *name) {
        Argosy__Request__Status status = MESSAGE_OF(request__status, .names = (char **) &name, .n_names = 1);
        uint64_t cancel;

        assert_int_equal(
                leader_request(t.leader, NULL, A_REQUEST(STATUS, status, &status), on_answer, NULL, &cancel),
                0);
}

static void a_question_ends_with_its_session_and_not_with_the_one_before(void **state) {
        run_instance("web@1.service", 2);
        n_answers = 0;
        ask_status("web@1.service");
        assert_int_equal(t.leader->calls_by_id.count, 1);
        attach_holding(2, tables_report(&t, "web@1.service", 2)); // in the same turn
        ask_status("web@1.service");
        end_turn();
        responses_flush(t.leader);
        assert_int_equal(n_answers, 1); // that the connection was lost
        assert_int_equal(t.leader->calls_by_id.count, 1);
        session_on_link_lost(t.leader, tables_host(&t, 2));
        end_turn();
        responses_flush(t.leader);
        assert_int_equal(n_answers, 2);
        assert_int_equal(t.leader->calls_by_id.count, 0);
}

static void a_question_ends_with_its_node(void **state) {
        Batch b = {};

        run_instance("web@1.service", 2);
        n_answers = 0;
        ask_status("web@1.service");
        batch_host_remove(&b, 2);
        tables_apply(&t, &b);
        responses_flush(t.leader);
        assert_int_equal(n_answers, 1);
        assert_int_equal(t.leader->calls_by_id.count, 0);
}

RUN_TESTS(
        TEST(what_is_down_is_counted_when_the_turn_begins),
        TEST(what_runs_on_a_dark_node_counts_as_down),
        TEST(what_was_seen_on_a_host_that_goes_leaves_with_it),
        TEST(of_many_that_were_touched_some_are_looked_at_in_each_turn),
        TEST(who_asks_for_a_node_knows_who_refuses_the_unit),
        TEST(a_question_ends_with_its_session_and_not_with_the_one_before),
        TEST(a_question_ends_with_its_node)
)
