// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What drains, rolling updates and rebalances ask for, again and again, and what they say when they stop
// waiting.

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "command-words.h"
#include "messages.h"

// ---- drain

static void reply_ok(FakeDaemon *d) {
        reply_error(d, 0, "", false);
}

static void expect_mode(FakeDaemon *d, const char *node, Argosy__NodeMode mode) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_NODE_CHANGE);
        assert(q->node_change->n_nodes == 1 && streq(q->node_change->nodes[0], node) &&
               q->node_change->mode == mode);
        reply_ok(d);
}

static void expect_modes(FakeDaemon *d, const char *first, const char *second, Argosy__NodeMode mode) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_NODE_CHANGE && q->node_change->mode == mode);
        assert(q->node_change->n_nodes == 2 && streq(q->node_change->nodes[0], first) &&
               streq(q->node_change->nodes[1], second));
}

static void expect_drain_wait(FakeDaemon *d, const char *node) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_DRAIN_WAIT && streq(q->drain_wait->node, node));
}

static void drains_with_breaks(FakeDaemon *d) {
        fake_accept(d);
        expect_modes(d, "n1", "n2", ARGOSY__NODE_MODE__MODE_DRAINING);
        reply_ok(d);
        expect_drain_wait(d, "n1");
        reply_left(d, 2, "", false);
        fake_accept(d); // argosyd restarts
        expect_drain_wait(d, "n1");
        reply_error(d, EAGAIN, "the leader changed", true);
        expect_drain_wait(d, "n1");
        reply_error(d, ETIMEDOUT, "no leader can be reached", false);
        expect_drain_wait(d, "n1");
        reply_left(d, 1, "", false);
        reply_left(d, 0, "", true);
        expect_drain_wait(d, "n2");
        reply_left(d, 0, "", true);
}

static void a_drain_is_waited_for_over_daemon_and_leader(void **state) {
        _cleanup_outcome_ Outcome o = run(drains_with_breaks, "drain n1 n2");

        assert_ended(o, 0, "", "");
}

static void is_stuck(FakeDaemon *d) {
        Argosy__Refusal refusal = MESSAGE_OF(refusal, .node = (char *) "n2",
                                             .reason = (char *) "it is cordoned"),
                        *refusals[] = {&refusal};
        Argosy__Response__UnitResult unit = UNIT_RESULT_OF(.name = (char *) "a.service",
                                                           .refusals = refusals, .n_refusals = 1),
                                     *units[] = {&unit};
        Argosy__Response__Progress progress =
                MESSAGE_OF(response__progress, .done = units, .n_done = 1, .remaining = 3);

        fake_accept(d);
        expect_mode(d, "n1", ARGOSY__NODE_MODE__MODE_MAINTENANCE);
        expect_drain_wait(d, "n1");
        fake_reply_last(d, A_RESPONSE(PROGRESS, progress, &progress, .final = true, .status = ENOSPC,
                                      .message = (char *) "no node takes what is left"));
}

static void what_no_node_takes_is_named(void **state) {
        _cleanup_outcome_ Outcome o = run(is_stuck, "maintenance n1");

        assert_warns(o, 1, "a.service:\n"
                           "  n2: it is cordoned\n"
                           "and 2 more units\n"
                           "argosyctl: n1: no node takes what is left; the drain goes on (see "
                           "argosyctl list-nodes)\n");
}

static void is_not_heard_again(FakeDaemon *d) {
        fake_accept(d);
        expect_mode(d, "n1", ARGOSY__NODE_MODE__MODE_DRAINING);
        expect_drain_wait(d, "n1");
        reply_left(d, 2, "", false);
}

static void a_drain_that_takes_too_long_goes_on(void **state) {
        _cleanup_outcome_ Outcome o = run(is_not_heard_again, "drain --timeout=500ms n1");

        assert_warns(o, 1,
                     "argosyctl: n1: timed out waiting; the drain goes on (see argosyctl list-nodes)\n");
}

static void goes_away_during_the_drain(FakeDaemon *d) {
        fake_accept(d);
        expect_mode(d, "n1", ARGOSY__NODE_MODE__MODE_DRAINING);
        expect_drain_wait(d, "n1");
        reply_left(d, 2, "", false);
        fake_accept(d);
        expect_drain_wait(d, "n1");
        fake_hang_up(d); // for good
}

// Whatever was heard before it.
static void of_a_drain_behind_a_lost_connection_nothing_is_claimed(void **state) {
        _cleanup_outcome_ Outcome o = run(goes_away_during_the_drain, "drain --timeout=500ms n1");

        assert_warns_of(o, 1, "; the drain may go on, or have ended (see argosyctl list-nodes)\n");
}

static void interrupts_the_drain(FakeDaemon *d) {
        fake_accept(d);
        expect_modes(d, "n1", "n2", ARGOSY__NODE_MODE__MODE_DRAINING);
        reply_ok(d);
        expect_drain_wait(d, "n1");
        kill(getpid(), SIGINT);
        fake_expect_end(d); // neither taken back nor asked for again
}

// The cluster had said nothing of it yet.
static void ctrl_c_lets_the_drain_be(void **state) {
        _cleanup_outcome_ Outcome o = run(interrupts_the_drain, "drain n1 n2");

        assert_warns(o, 130, "argosyctl: detached; the drain of n1 and n2 may go on, or have ended "
                             "(see argosyctl list-nodes)\n");
}

// What cannot leave one node, or a node that was opened again, keeps nobody from waiting for the others.
static void ends_in_three_ways(FakeDaemon *d) {
        Argosy__Response__Progress progress = MESSAGE_OF(response__progress, .remaining = 1);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_NODE_CHANGE && q->node_change->n_nodes == 3);
        reply_ok(d);
        expect_drain_wait(d, "n1");
        fake_reply(d, A_RESPONSE(PROGRESS, progress, &progress, .final = true, .status = EBUSY,
                                 .message = (char *) "1 unit cannot leave"));
        expect_drain_wait(d, "n2");
        reply_error(d, ECANCELED, "n2 is not being drained any more", false);
        expect_drain_wait(d, "n3");
        reply_left(d, 0, "", true);
}

static void each_node_is_waited_for_whatever_became_of_the_others(void **state) {
        _cleanup_outcome_ Outcome o = run(ends_in_three_ways, "drain n1 n2 n3");

        assert_warns(o, 1,
                     "and 1 more units\n"
                     "argosyctl: n1: 1 unit cannot leave; the drain goes on (see argosyctl list-nodes)\n"
                     "argosyctl: n2 is not being drained any more\n");
}

// ---- rolling

static void expect_rollout(FakeDaemon *d, Argosy__RolloutKind kind) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT);
        assert(q->rollout->kind == kind && q->rollout->id.len == 16 && streq(q->rollout->name, "a.service"));
        reply_change(d, RESULTS({"a.service", .revision = 7}));
}

static void expect_rollout_wait(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT_WAIT);
        assert(streq(q->rollout_wait->name, "a.service") && q->rollout_wait->revision == 7);
}

static void rolls_with_breaks(FakeDaemon *d) {
        fake_accept(d);
        expect_rollout(d, ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART);
        expect_rollout_wait(d);
        reply_left(d, 5, "", false);
        reply_error(d, EAGAIN, "the leader changed", false);
        expect_rollout_wait(d);
        reply_left(d, 2, "", false);
        fake_accept(d);
        expect_rollout_wait(d);
        reply_left(d, 0, "", true);
}

static void a_rolling_restart_is_waited_for_over_daemon_and_leader(void **state) {
        _cleanup_outcome_ Outcome o = run(rolls_with_breaks, "restart --rolling --verbose a");

        assert_ended(o, 0, "a.service: restarted\n", "");
}

static void goes_back(FakeDaemon *d) {
        fake_accept(d);
        expect_rollout(d, ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE);
        expect_rollout_wait(d);
        reply_left(d, 5, "", false);
        reply_left(d, 2, "it failed on n2", false);
        reply_left(d, 1, "it failed on n2", false);
        fake_accept(d);
        expect_rollout_wait(d);
        reply_left(d, 1, "it failed on n2", false);
        reply_error(d, EIO, "it failed on n2; all have the file of before again", false);
}

static void why_an_update_goes_back_is_said_once(void **state) {
        _cleanup_outcome_ Outcome o = run(goes_back, "update a");

        assert_warns(o, 1, "Warning: a.service goes back to the file of before: it failed on n2\n"
                           "argosyctl: update a.service: all have the file of before again\n");
}

static void interrupts_the_update(FakeDaemon *d) {
        fake_accept(d);
        expect_rollout(d, ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE);
        expect_rollout_wait(d);
        kill(getpid(), SIGINT);
}

static void interrupts_the_update_of_a_job(FakeDaemon *d) {
        Argosy__Response__UnitResult result = UNIT_RESULT_OF(.name = (char *) "a.service", .revision = 7),
                                     *results = &result;
        Argosy__Response__Change change = MESSAGE_OF(response__change, .units = &results, .n_units = 1);

        done(fake_take(d));
        fake_reply(d, A_RESPONSE(CHANGE, change, &change, .job = 12, .final = true));
        expect_rollout_wait(d);
        kill(getpid(), SIGINT);
}

static void ctrl_c_names_the_job_of_the_update(void **state) {
        _cleanup_outcome_ Outcome o = run(interrupts_the_update_of_a_job, "update a");

        assert_int_equal(o.code, 130);
        assert_string_equal(
                o.err,
                "argosyctl: detached; update of a.service may go on, or have ended (see argosyctl job wait "
                "12; update --abort ends it)\n");
}

static void ctrl_c_lets_the_update_be(void **state) {
        _cleanup_outcome_ Outcome o = run(interrupts_the_update, "update a");

        assert_warns(o, 130,
                     "argosyctl: detached; update of a.service may go on, or have ended (see argosyctl "
                     "list-unit-files; update --abort ends it)\n");
}

static void is_not_done_with_the_update(FakeDaemon *d) {
        fake_accept(d);
        expect_rollout(d, ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE);
        expect_rollout_wait(d);
        reply_left(d, 5, "", false);
}

static void an_update_that_takes_too_long_goes_on(void **state) {
        _cleanup_outcome_ Outcome o = run(is_not_done_with_the_update, "update --timeout=500ms a");

        assert_warns(o, 1, "argosyctl: a.service: timed out waiting; it goes on (see argosyctl "
                           "list-unit-files)\n");
}

static void goes_away_during_the_update(FakeDaemon *d) {
        fake_accept(d);
        expect_rollout(d, ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE);
        expect_rollout_wait(d);
        reply_left(d, 5, "", false);
        fake_hang_up(d);
}

static void of_an_update_behind_a_lost_connection_nothing_is_claimed(void **state) {
        _cleanup_outcome_ Outcome o = run(goes_away_during_the_update, "update --timeout=500ms a");

        assert_warns_of(o, 1, "; it may go on, or have ended (see argosyctl list-unit-files)\n");
}

// ---- rebalance

// As many moves as `units` has names.
static void reply_moves(FakeDaemon *d, const char *const *units, uint32_t remaining, bool more, bool final) {
        Argosy__Response__Rebalance__Move moves[RESULTS_MAX], *pointers[RESULTS_MAX];
        Argosy__Response__Rebalance rebalance = ARGOSY__RESPONSE__REBALANCE__INIT;
        Argosy__Response r = RESPONSE_OF(REBALANCE, rebalance, &rebalance);

        for (size_t n = 0; units[n]; n++) {
                moves[n] = (Argosy__Response__Rebalance__Move) ARGOSY__RESPONSE__REBALANCE__MOVE__INIT;
                moves[n].unit = (char *) units[n];
                moves[n].from = (char *) "n1";
                moves[n].to = (char *) "n2";
                moves[n].why = (char *) "n1 is fuller";
                pointers[n] = &moves[n];
                rebalance.n_moves++;
        }
        rebalance.moves = pointers;
        rebalance.remaining = remaining;
        rebalance.more = more;
        r.final = final;
        fake_reply(d, &r);
}
#define UNITS(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void expect_rebalance(FakeDaemon *d, uint32_t max_moves) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_REBALANCE);
        assert(q->rebalance->id.len == 16 && q->rebalance->max_moves == max_moves);
}

static void rebalances_with_breaks(FakeDaemon *d) {
        fake_accept(d);
        expect_rebalance(d, 3);
        reply_moves(d, UNITS(), 3, false, false);
        reply_moves(d, UNITS("a.service"), 2, false, false);
        fake_accept(d);
        expect_rebalance(d, 2); // less what was moved already
        reply_error(d, EAGAIN, "the leader changed", true);
        expect_rebalance(d, 2);
        reply_moves(d, UNITS("b.service"), 1, false, false);
        reply_moves(d, UNITS("c.service"), 0, true, true);
}

static void a_rebalance_goes_on_under_the_next_leader(void **state) {
        _cleanup_outcome_ Outcome o = run(rebalances_with_breaks, "rebalance --max-moves=3");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "a.service: n1 -> n2 (n1 is fuller)\n"
                                   "b.service: n1 -> n2 (n1 is fuller)\n"
                                   "c.service: n1 -> n2 (n1 is fuller)\n");
        assert_string_equal(o.err, "Warning: the limit of moves is reached; there may be more to move\n");
}

static void moves_enough(FakeDaemon *d) {
        fake_accept(d);
        expect_rebalance(d, 1);
        reply_moves(d, UNITS("a.service"), 0, true, false);
        reply_error(d, EAGAIN, "the leader changed", true);
}

static void what_was_moved_is_enough(void **state) {
        _cleanup_outcome_ Outcome o = run(moves_enough, "rebalance --max-moves=1 --json=short");

        assert_int_equal(o.code, 0);
        assert_string_equal(o.out, "[{\"unit\":\"a.service\",\"from\":\"n1\",\"to\":\"n2\",\"why\":\"n1 is "
                                   "fuller\",\"error\":\"\"}]\n");
        assert_string_equal(o.err, "");
}

static void begins_the_rebalance(FakeDaemon *d) {
        fake_accept(d);
        expect_rebalance(d, 0);
        reply_moves(d, UNITS(), 3, false, false);
}

static void a_rebalance_is_not_waited_for_if_nobody_wants_that(void **state) {
        _cleanup_outcome_ Outcome o = run(begins_the_rebalance, "rebalance --no-block");

        assert_ended(o, 0, "", "");
}

static void a_rebalance_that_takes_too_long_goes_on(void **state) {
        _cleanup_outcome_ Outcome o = run(begins_the_rebalance, "rebalance --timeout=500ms");

        assert_warns(o, 1, "argosyctl: timed out waiting; what was begun goes on\n");
}

static void goes_away_during_the_rebalance(FakeDaemon *d) {
        fake_accept(d);
        expect_rebalance(d, 0);
        reply_moves(d, UNITS(), 3, false, false);
        fake_hang_up(d);
}

static void of_a_rebalance_behind_a_lost_connection_nothing_is_claimed(void **state) {
        _cleanup_outcome_ Outcome o = run(goes_away_during_the_rebalance, "rebalance --timeout=500ms");

        assert_warns_of(o, 1, "; what was begun may go on, or have ended\n");
}

static void interrupts_the_rebalance(FakeDaemon *d) {
        fake_accept(d);
        expect_rebalance(d, 0);
        kill(getpid(), SIGINT);
}

static void ctrl_c_lets_the_rebalance_be(void **state) {
        _cleanup_outcome_ Outcome o = run(interrupts_the_rebalance, "rebalance");

        assert_warns(o, 130, "argosyctl: detached; the rebalance may go on, or have ended "
                             "(argosyctl rebalance --abort ends it)\n");
}

static void refuses_the_rebalance(FakeDaemon *d) {
        fake_accept(d);
        expect_rebalance(d, 0);
        reply_error(d, EBUSY, "another rebalance is under way", false);
}

static void a_rebalance_that_is_refused_is_not_asked_for_again(void **state) {
        _cleanup_outcome_ Outcome o = run(refuses_the_rebalance, "rebalance");

        assert_warns(o, 1, "argosyctl: another rebalance is under way\n");
}

// ---- wait

static void expect_goal(FakeDaemon *d, Argosy__UnitGoal goal, const char *first, size_t n) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_WAIT && q->wait->goal == goal);
        assert(q->wait->n_items == n && streq(q->wait->items[0]->name, first));
}

static void gets_there_with_breaks(FakeDaemon *d) {
        fake_accept(d);
        expect_goal(d, ARGOSY__UNIT_GOAL__GOAL_ACTIVE, "a.service", 3);
        reply_progress(d, RESULTS({"a.service", .node = "n1"}), false);
        fake_accept(d); // argosyd restarts
        expect_goal(d, ARGOSY__UNIT_GOAL__GOAL_ACTIVE, "b.service", 2);
        reply_error(d, EAGAIN, "the leader changed", true);
        expect_goal(d, ARGOSY__UNIT_GOAL__GOAL_ACTIVE, "b.service", 2);
        reply_progress(d, RESULTS({"c.timer", .node = "n3"}), false);
        reply_progress(d, RESULTS({"b.service", .node = "n2"}), true);
}

static void a_state_is_waited_for_over_daemon_and_leader(void **state) {
        _cleanup_outcome_ Outcome o = run(gets_there_with_breaks, "wait a b c.timer a --for=active -v");

        assert_ended(o, 0, "a.service: active on n1\nc.timer: active on n3\nb.service: active on n2\n", "");
}

static void knows_one_of_two(FakeDaemon *d) {
        fake_accept(d);
        expect_goal(d, ARGOSY__UNIT_GOAL__GOAL_FAILED, "a.service", 2);
        reply_progress(d, RESULTS({"b.service", .status = ENOENT, .message = "there is no such unit"}),
                       false);
        reply_progress(d, RESULTS({"a.service", .node = "n1"}), true);
}

static void a_unit_that_there_is_not_has_a_status_of_its_own(void **state) {
        _cleanup_outcome_ Outcome o = run(knows_one_of_two, "wait a b --for=failed");

        assert_ended(o, 4, "", "argosyctl: b.service: there is no such unit\n");
}

static void is_not_heard(FakeDaemon *d) {
        fake_accept(d);
        expect_goal(d, ARGOSY__UNIT_GOAL__GOAL_GONE, "a.service", 1);
        reply_progress(d,
                       RESULTS({"a.service", .status = EHOSTDOWN, .message = "may still run on n4",
                                .may_run_on = (char *) "n4"}),
                       true);
}

static void what_may_still_run_has_one_too(void **state) {
        _cleanup_outcome_ Outcome o = run(is_not_heard, "wait a --for=gone");

        assert_warns(o, 5, "argosyctl: a.service: may still run on n4\n");
}

static void gets_nowhere(FakeDaemon *d) {
        fake_accept(d);
        expect_goal(d, ARGOSY__UNIT_GOAL__GOAL_INACTIVE, "a.service", 2);
        reply_progress(d, RESULTS({"a.service"}), false);
}

static void what_is_not_so_in_time_is_named(void **state) {
        _cleanup_outcome_ Outcome o = run(gets_nowhere, "wait a b --for=inactive --timeout=500ms");

        assert_warns(o, 1, "argosyctl: timed out waiting; b.service was not seen to be inactive\n");
}

static void nobody_asks(FakeDaemon *d) {}

static void what_for_has_to_be_said(void **state) {
        _cleanup_outcome_ Outcome o = run(nobody_asks, "wait a");

        assert_warns_of(o, 2, "--for=");
}

RUN_TESTS(
        cmocka_unit_test(a_drain_is_waited_for_over_daemon_and_leader),
        cmocka_unit_test(what_no_node_takes_is_named),
        cmocka_unit_test(a_drain_that_takes_too_long_goes_on),
        cmocka_unit_test(of_a_drain_behind_a_lost_connection_nothing_is_claimed),
        cmocka_unit_test(ctrl_c_lets_the_drain_be),
        cmocka_unit_test(each_node_is_waited_for_whatever_became_of_the_others),
        cmocka_unit_test(a_rolling_restart_is_waited_for_over_daemon_and_leader),
        cmocka_unit_test(why_an_update_goes_back_is_said_once),
        cmocka_unit_test(ctrl_c_names_the_job_of_the_update),
        cmocka_unit_test(of_an_update_behind_a_lost_connection_nothing_is_claimed),
        cmocka_unit_test(ctrl_c_lets_the_update_be),
        cmocka_unit_test(an_update_that_takes_too_long_goes_on),
        cmocka_unit_test(a_rebalance_goes_on_under_the_next_leader),
        cmocka_unit_test(what_was_moved_is_enough),
        cmocka_unit_test(a_rebalance_is_not_waited_for_if_nobody_wants_that),
        cmocka_unit_test(a_rebalance_that_takes_too_long_goes_on),
        cmocka_unit_test(of_a_rebalance_behind_a_lost_connection_nothing_is_claimed),
        cmocka_unit_test(ctrl_c_lets_the_rebalance_be),
        cmocka_unit_test(a_rebalance_that_is_refused_is_not_asked_for_again),
        cmocka_unit_test(a_state_is_waited_for_over_daemon_and_leader),
        cmocka_unit_test(a_unit_that_there_is_not_has_a_status_of_its_own),
        cmocka_unit_test(what_may_still_run_has_one_too),
        cmocka_unit_test(what_is_not_so_in_time_is_named),
        cmocka_unit_test(what_for_has_to_be_said)
)
