// SPDX-License-Identifier: LGPL-2.1-or-later
#include "macro.h"
#include "messages.h"
#include "test.h"
#include "unit-state.h"
#include "wait-condition.h"

#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define LOAD ARGOSY__VERB__VERB_LOAD
#define UNLOAD ARGOSY__VERB__VERB_UNLOAD
#define DESTROY ARGOSY__VERB__VERB_DESTROY
#define ACTIVE ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE
#define INACTIVE ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE
#define FAILED ARGOSY__ACTIVE_STATE__ACTIVE_FAILED
#define ACTIVATING ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING
#define DEACTIVATING ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING

static Argosy__UnitRecord record;
static WaitNode nodes[2];
static WaitView view;

// A launched unit, asked for at revision 10 and placed on node 1, which reports it running.
FIXTURE(setup) {
        record = (Argosy__UnitRecord) UNIT_RECORD_OF(.target = ARGOSY__TARGET__TARGET_LAUNCHED, .node = 1,
                                                     .revision = 10, .start_rev = 10);
        nodes[0] = (WaitNode){
                .node = "n1",
                .wanted = true,
                .reported = true,
                .revision = 10,
                .load = ARGOSY__LOAD_STATE__LOAD_LOADED,
                .active = ACTIVE,
                .sub = "running",
                .result = "",
                .error = "",
        };
        nodes[1] = nodes[0];
        nodes[1].node = "n2";
        view = (WaitView){.record = &record, .nodes = nodes, .n_nodes = 1};
}

static void assert_pending(Argosy__Verb verb) {
        assert_false(wait_condition_judge(verb, 10, &view).done);
}

static void assert_ends(Argosy__Verb verb, int status) {
        WaitVerdict v = wait_condition_judge(verb, 10, &view);

        assert_true(v.done);
        assert_int_equal(v.status, status);
}

static void a_node_that_refuses_the_name_is_not_the_end(void **state) {
        nodes[0].refused = true; // the unit is on its way to another node
        nodes[0].error = "the name belongs to somebody else";
        assert_pending(START);
        assert_pending(LOAD);
        record.node = 0; // which nobody is
        assert_ends(START, EAGAIN);
}

static void a_start_ends_when_the_asked_revision_is_active(void **state) {
        assert_ends(START, 0);
        nodes[0].revision = 9; // what runs is an older start
        assert_pending(START);
        nodes[0].revision = 11;
        assert_ends(START, 0);
        nodes[0].active = ACTIVATING;
        assert_pending(START);
        nodes[0].reported = false;
        assert_pending(START);
}

#define ON ARGOSY__PROBATION__PROBATION_ON
#define PASSED ARGOSY__PROBATION__PROBATION_PASSED

// Whatever is reported of the unit meanwhile.
static void a_start_on_probation_ends_when_its_process_has_lived_long_enough(void **state) {
        static const Argosy__Verb verbs[] = {START, ARGOSY__VERB__VERB_RESTART};

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                nodes[0].active = ACTIVE;
                nodes[0].probation = ON;
                assert_pending(verbs[i]);
                nodes[0].active = INACTIVE; // systemd may be about to start it again
                nodes[0].result = "success";
                assert_pending(verbs[i]);
                nodes[0].active = FAILED;
                assert_ends(verbs[i], EIO);
                nodes[0].active = ACTIVATING;
                nodes[0].sub = "auto-restart";
                assert_ends(verbs[i], EIO);
                nodes[0].probation = PASSED;
                assert_ends(verbs[i], 0);
                nodes[0].active = FAILED; // since
                assert_ends(verbs[i], 0);
        }
        nodes[0].probation = ON;
        nodes[0].active = ACTIVE;
        assert_ends(LOAD, 0);
        // that is what is seen
        assert_true(wait_condition_judge_goal(ARGOSY__UNIT_GOAL__GOAL_ACTIVE, &view).done);
        nodes[0].error = "systemd refused it";
        assert_ends(START, EIO);
}

static void a_restart_within_that_time_is_a_failure(void **state) {
        nodes[0].probation = ARGOSY__PROBATION__PROBATION_RESTARTED;
        nodes[0].result = "success"; // it is up again
        assert_ends(START, EIO);
        assert_non_null(strstr(wait_condition_judge(START, 10, &view).message, "starts it again"));
        nodes[0].result = "exit-code";
        assert_string_equal(wait_condition_judge(START, 10, &view).message, unit_result_phrase("exit-code"));
}

static void a_program_that_ended_well_is_said_to_have_ended(void **state) {
        nodes[0].probation = ARGOSY__PROBATION__PROBATION_ENDED;
        nodes[0].active = INACTIVE;
        assert_ends(START, 0);
        assert_non_null(strstr(wait_condition_judge(START, 10, &view).message, "has ended already"));
        nodes[0].unneeded = true;
        assert_ends(START, 0);
        assert_non_null(strstr(wait_condition_judge(START, 10, &view).message, "StopWhenUnneeded="));
}

static void a_one_shot_has_ended_when_the_log_says_how(void **state) {
        Argosy__Outcome outcome = OUTCOME_OF(.kind = ARGOSY__OUTCOME__KIND__FAILED, .start_rev = 10),
                        *outcomes[] = {&outcome};

        nodes[0].active = INACTIVE;
        nodes[0].unsettled = true;
        assert_pending(START);
        nodes[0].active = FAILED;
        nodes[0].error = "start failed";
        assert_pending(START);
        assert_ends(LOAD, EIO);
        record.outcomes = outcomes;
        record.n_outcomes = 1;
        nodes[0].unsettled = false;
        assert_ends(START, EIO);
        outcome.kind = ARGOSY__OUTCOME__KIND__DONE;
        assert_ends(START, 0);
}

// As systemctl has it: nothing has failed, and it is said.
static void a_start_that_systemd_skips_ends_well_with_a_word(void **state) {
        Argosy__Outcome outcome = ARGOSY__OUTCOME__INIT, *outcomes[] = {&outcome};

        nodes[0].active = INACTIVE;
        nodes[0].skipped = true;
        nodes[0].result = "exec-condition";
        nodes[0].probation = ARGOSY__PROBATION__PROBATION_ENDED; // of which no run began
        WaitVerdict v = wait_condition_judge(START, 10, &view);
        assert_true(v.done && v.status == 0 && v.skipped);
        assert_string_equal(v.node, "n1");
        outcome.kind = ARGOSY__OUTCOME__KIND__DONE; // of a one-shot
        outcome.start_rev = 10;
        outcome.result = "skipped";
        record.outcomes = outcomes;
        record.n_outcomes = 1;
        v = wait_condition_judge(START, 10, &view);
        assert_true(v.done && v.status == 0 && v.skipped);
        outcome.result = "success";
        assert_false(wait_condition_judge(START, 10, &view).skipped);
}

static void only_what_was_there_is_said_to_be_destroyed(void **state) {
        view.record = NULL;
        view.was_known = false;
        assert_string_equal(wait_condition_judge(START, 10, &view).message,
                            "the unit is not in the cluster; what became of it is no longer known");
        assert_ends(START, ENOENT); // which calls no job overtaken
        view.was_known = true;
        assert_string_equal(wait_condition_judge(START, 10, &view).message,
                            "the unit was destroyed meanwhile");
        assert_ends(START, ECANCELED);
}

static void a_start_of_which_nobody_can_tell_the_end_fails(void **state) {
        Argosy__Outcome outcome = OUTCOME_OF(.kind = ARGOSY__OUTCOME__KIND__UNKNOWN, .start_rev = 10),
                        *outcomes[] = {&outcome};
        WaitVerdict v;

        record.outcomes = outcomes;
        record.n_outcomes = 1;
        nodes[0].active = INACTIVE;
        for (int global = 0; global <= 1; global++) { // each node's own, where it runs on all
                record.global = global;
                nodes[0].outcome = global ? &outcome : NULL;
                v = wait_condition_judge(START, 10, &view);
                assert_int_equal(v.status, EIO);
                assert_string_equal(v.message, OUTCOME_UNKNOWN_TEXT);
                assert_string_equal(v.node, "n1");
        }
}

static void a_start_that_never_began_says_what_the_node_says(void **state) {
        Argosy__Outcome outcome = MESSAGE_OF(outcome, .kind = ARGOSY__OUTCOME__KIND__FAILED,
                                             .result = "dependency", .start_rev = 10),
                        *outcomes[] = {&outcome};

        record.outcomes = outcomes;
        record.n_outcomes = 1;
        nodes[0].active = INACTIVE;
        assert_string_equal(wait_condition_judge(START, 10, &view).message,
                            "a unit that it needs on its node did not start (dependency)");
        nodes[0].error = "start failed because of a dependency";
        assert_string_equal(wait_condition_judge(START, 10, &view).message,
                            "start failed because of a dependency");
        assert_ends(START, EIO);
        record.global = true; // no other node's
        assert_ends(START, EIO);
}

static void a_start_that_fails_says_why_and_where(void **state) {
        nodes[0].active = FAILED;
        nodes[0].result = "exit-code";
        WaitVerdict v = wait_condition_judge(START, 10, &view);
        assert_int_equal(v.status, EIO);
        assert_string_equal(v.message, "a process of it ended with an error (exit-code)");
        assert_string_equal(v.node, "n1");
        nodes[0].active = ACTIVATING;
        nodes[0].sub = "auto-restart"; // it may crash for ever: nobody waits for that
        assert_ends(START, EIO);
        setup(NULL);
        nodes[0].error = "no space left on device";
        assert_ends(START, EIO);
}

static void a_one_shot_ends_the_start_when_it_has_finished(void **state) {
        Argosy__Outcome o = OUTCOME_OF(.kind = ARGOSY__OUTCOME__KIND__DONE, .start_rev = 10), *outcomes = &o;

        nodes[0].active = ACTIVATING;
        nodes[0].sub = "start";
        assert_pending(START);
        nodes[0].active = INACTIVE;
        nodes[0].result = "success";
        assert_ends(START, 0);
        nodes[0].result = "exit-code";
        assert_ends(START, EIO);
        // The outcome in the log outlives the node that saw it.
        nodes[0].lost = true;
        assert_pending(START);
        record.outcomes = &outcomes;
        record.n_outcomes = 1;
        assert_ends(START, 0);
        o.kind = ARGOSY__OUTCOME__KIND__FAILED;
        assert_ends(START, EIO);
        o.start_rev = 9; // of an older start
        assert_pending(START);
}

static void a_wait_follows_the_unit_to_another_node(void **state) {
        nodes[0].lost = true;
        assert_pending(START);
        record.node = 2;
        record.revision = 12;
        nodes[0].wanted = false;
        nodes[1].reported = false;
        view.n_nodes = 2;
        assert_pending(START);
        nodes[1].reported = true;
        nodes[1].revision = 12;
        assert_ends(START, 0);
}

static void a_unit_without_a_node_ends_the_wait_at_once(void **state) {
        record.node = 0;
        view.n_nodes = 0;
        assert_ends(START, EAGAIN);
        assert_true(wait_condition_judge(START, 10, &view).unplaced);
        setup(NULL);
        nodes[0].lost = true;
        view.stranded = true;
        assert_ends(START, EAGAIN);
}

static void somebody_elses_contrary_wish_ends_the_wait(void **state) {
        record.revision = 11;
        record.target = ARGOSY__TARGET__TARGET_LOADED;
        assert_ends(START, ECANCELED);
        record.target = ARGOSY__TARGET__TARGET_INACTIVE;
        assert_ends(START, ECANCELED);
        setup(NULL);
        record.revision = 11;
        assert_ends(STOP, ECANCELED);
        assert_ends(UNLOAD, ECANCELED);
}

static void assert_not_carried_out(Argosy__Verb verb) {
        assert_ends(verb, EIO);
        assert_string_equal(wait_condition_judge(verb, 10, &view).message,
                            "the cluster does not have this change; ask for it again");
}

static void without_a_later_revision_nobody_has_changed_it(void **state) {
        record.revision = 9;
        assert_not_carried_out(STOP);
        assert_not_carried_out(UNLOAD);
        record.target = ARGOSY__TARGET__TARGET_LOADED;
        assert_not_carried_out(START);
        record.target = ARGOSY__TARGET__TARGET_INACTIVE;
        assert_not_carried_out(LOAD);
}

static void a_stop_ends_when_the_unit_is_down(void **state) {
        record.target = ARGOSY__TARGET__TARGET_LOADED;
        nodes[0].active = DEACTIVATING;
        assert_pending(STOP);
        nodes[0].active = INACTIVE;
        assert_ends(STOP, 0);
        nodes[0].active = FAILED;
        assert_ends(STOP, 0);
        nodes[0].active = INACTIVE;
        nodes[0].revision = 9;
        assert_pending(STOP);
}

static void a_load_ends_when_systemd_has_parsed_the_file(void **state) {
        record.target = ARGOSY__TARGET__TARGET_LOADED;
        nodes[0].active = INACTIVE;
        assert_ends(LOAD, 0);
        nodes[0].load = ARGOSY__LOAD_STATE__LOAD_BAD_SETTING;
        assert_ends(LOAD, ENOEXEC);
        nodes[0].load = ARGOSY__LOAD_STATE__LOAD_UNKNOWN;
        assert_pending(LOAD);
}

static void a_destroy_ends_when_it_is_gone_from_every_node(void **state) {
        view.record = NULL;
        nodes[0].wanted = false;
        assert_pending(DESTROY);
        nodes[0].lost = true; // nobody waits for a lost node
        assert_ends(DESTROY, 0);
        view.n_nodes = 0;
        assert_ends(DESTROY, 0);
        view.hosts_unattached = true; // a new leader does not know yet who holds what
        assert_pending(DESTROY);
        setup(NULL);
        view.record = NULL;
        nodes[0].wanted = false;
        nodes[0].error = "cannot remove the file: read-only file system";
        assert_ends(DESTROY, EIO);
        setup(NULL);
        record.revision = 20; // submitted again
        assert_ends(DESTROY, 0);
}

static void an_unload_ends_when_it_is_gone_and_the_record_stays(void **state) {
        record.target = ARGOSY__TARGET__TARGET_INACTIVE;
        record.node = 0;
        nodes[0].wanted = false;
        assert_pending(UNLOAD);
        assert_pending(STOP); // what is unloaded meanwhile stops too
        view.n_nodes = 0;
        assert_ends(UNLOAD, 0);
        assert_ends(STOP, 0);
}

static void a_global_unit_is_waited_for_on_every_node_that_is_not_lost(void **state) {
        record.global = true;
        record.node = 0;
        view.n_nodes = 2;
        nodes[1].active = ACTIVATING;
        assert_pending(START);
        nodes[1].lost = true;
        assert_ends(START, 0);
        nodes[1].lost = false;
        nodes[1].active = FAILED;
        assert_string_equal(wait_condition_judge(START, 10, &view).node, "n2");
        view.n_nodes = 0;
        assert_ends(START, 0); // no node matches
        view.hosts_unattached = true;
        assert_pending(START);
}

#define GOAL(word) ARGOSY__UNIT_GOAL__GOAL_##word

static void assert_goal_pending(Argosy__UnitGoal goal) {
        assert_false(wait_condition_judge_goal(goal, &view).done);
}

static void assert_goal_ends(Argosy__UnitGoal goal, int status) {
        WaitVerdict v = wait_condition_judge_goal(goal, &view);

        assert_true(v.done);
        assert_int_equal(v.status, status);
}

static void what_is_seen_counts_whatever_was_asked_for(void **state) {
        record.name = (char *) "web.service";
        record.target = ARGOSY__TARGET__TARGET_LOADED;
        nodes[0].revision = 3;
        assert_goal_ends(GOAL(ACTIVE), 0);
        assert_goal_pending(GOAL(INACTIVE));
        assert_goal_pending(GOAL(FAILED));
        assert_goal_pending(GOAL(GONE));
        nodes[0].active = DEACTIVATING;
        assert_goal_pending(GOAL(ACTIVE));
        assert_goal_pending(GOAL(INACTIVE));
        nodes[0].active = FAILED;
        assert_goal_pending(GOAL(ACTIVE));
        assert_goal_ends(GOAL(INACTIVE), 0);
        assert_goal_ends(GOAL(FAILED), 0);
        assert_string_equal(wait_condition_judge_goal(GOAL(FAILED), &view).node, "n1");
        nodes[0].reported = false;
        assert_goal_pending(GOAL(INACTIVE));
        assert_goal_pending(GOAL(FAILED));
        nodes[0].active = ACTIVE;
        assert_goal_pending(GOAL(ACTIVE));
}

static void a_unit_without_a_node_is_inactive_once_all_hosts_are_heard(void **state) {
        record.name = (char *) "web.service";
        record.node = 0;
        view.n_nodes = 0;
        assert_goal_pending(GOAL(ACTIVE));
        assert_goal_ends(GOAL(INACTIVE), 0);
        view.hosts_unattached = true;
        assert_goal_pending(GOAL(INACTIVE));
}

static void a_unit_is_inactive_when_it_is_down_where_it_was_before_too(void **state) {
        record.name = (char *) "web.service";
        view.n_nodes = 2;
        nodes[0].active = INACTIVE;
        nodes[1].wanted = false;
        assert_goal_pending(GOAL(INACTIVE));
        nodes[1].lost = nodes[1].fenced = true;
        assert_goal_pending(GOAL(INACTIVE));
        nodes[1].silent = true;
        assert_goal_ends(GOAL(INACTIVE), WAIT_MAY_RUN);
        nodes[1].active = INACTIVE;
        nodes[1].seen = true;
        assert_goal_ends(GOAL(INACTIVE), 0);
}

static void a_unit_that_was_not_begun_is_inactive(void **state) {
        record.name = (char *) "web.service";
        nodes[0].reported = false;
        nodes[0].held = true;
        assert_goal_ends(GOAL(INACTIVE), 0);
        nodes[0].held = false;
        nodes[0].refused = true;
        assert_goal_ends(GOAL(INACTIVE), 0);
        nodes[0].reported = true; // what is active there is somebody else's
        assert_goal_ends(GOAL(INACTIVE), 0);
        assert_goal_pending(GOAL(ACTIVE));
}

static void a_global_unit_is_active_when_it_is_on_all_nodes_that_are_not_lost(void **state) {
        record.name = (char *) "web.service";
        record.global = true;
        record.node = 0;
        view.n_nodes = 2;
        nodes[1].active = ACTIVATING;
        assert_goal_pending(GOAL(ACTIVE));
        nodes[1].lost = true;
        assert_goal_ends(GOAL(ACTIVE), 0);
        view.hosts_unattached = true;
        assert_goal_pending(GOAL(ACTIVE));
        nodes[1].lost = false;
        nodes[1].active = FAILED;
        assert_goal_ends(GOAL(FAILED), 0);
}

static void the_log_knows_of_a_one_shot_that_failed(void **state) {
        Argosy__Outcome outcome = ARGOSY__OUTCOME__INIT;

        record.name = (char *) "web.service";
        nodes[0].active = INACTIVE; // somebody has reset it
        nodes[0].outcome = &outcome;
        outcome.kind = ARGOSY__OUTCOME__KIND__DONE;
        assert_goal_pending(GOAL(FAILED));
        outcome.kind = ARGOSY__OUTCOME__KIND__FAILED;
        assert_goal_ends(GOAL(FAILED), 0);
}

static void an_unknown_unit_is_gone_and_else_refused(void **state) {
        view.record = NULL;
        view.n_nodes = 0;
        assert_goal_ends(GOAL(GONE), 0);
        assert_goal_ends(GOAL(ACTIVE), ENOENT);
        assert_goal_ends(GOAL(INACTIVE), ENOENT);
        assert_goal_ends(GOAL(FAILED), ENOENT);
        view.was_known = true; // it was destroyed meanwhile
        assert_goal_ends(GOAL(INACTIVE), 0);
        assert_goal_ends(GOAL(ACTIVE), ENOENT);
        view.n_nodes = 1;
        assert_goal_pending(GOAL(GONE));
        assert_goal_pending(GOAL(INACTIVE));
        nodes[0].lost = nodes[0].silent = true;
        assert_goal_ends(GOAL(GONE), WAIT_MAY_RUN);
        assert_goal_ends(GOAL(INACTIVE), WAIT_MAY_RUN);
}

static void a_template_runs_nowhere(void **state) {
        record.name = (char *) "web@.service";
        view.n_nodes = 0;
        assert_goal_ends(GOAL(ACTIVE), EINVAL);
        assert_goal_pending(GOAL(GONE));
}

RUN_TESTS(
        cmocka_unit_test_setup(a_node_that_refuses_the_name_is_not_the_end, setup),
        cmocka_unit_test_setup(a_start_ends_when_the_asked_revision_is_active, setup),
        cmocka_unit_test_setup(a_start_on_probation_ends_when_its_process_has_lived_long_enough,
                               setup),
        cmocka_unit_test_setup(a_restart_within_that_time_is_a_failure, setup),
        cmocka_unit_test_setup(a_program_that_ended_well_is_said_to_have_ended, setup),
        cmocka_unit_test_setup(a_one_shot_has_ended_when_the_log_says_how, setup),
        cmocka_unit_test_setup(a_start_that_fails_says_why_and_where, setup),
        cmocka_unit_test_setup(a_start_that_systemd_skips_ends_well_with_a_word, setup),
        cmocka_unit_test_setup(only_what_was_there_is_said_to_be_destroyed, setup),
        cmocka_unit_test_setup(a_start_of_which_nobody_can_tell_the_end_fails, setup),
        cmocka_unit_test_setup(a_start_that_never_began_says_what_the_node_says, setup),
        cmocka_unit_test_setup(a_one_shot_ends_the_start_when_it_has_finished, setup),
        cmocka_unit_test_setup(a_wait_follows_the_unit_to_another_node, setup),
        cmocka_unit_test_setup(a_unit_without_a_node_ends_the_wait_at_once, setup),
        cmocka_unit_test_setup(somebody_elses_contrary_wish_ends_the_wait, setup),
        cmocka_unit_test_setup(without_a_later_revision_nobody_has_changed_it, setup),
        cmocka_unit_test_setup(a_stop_ends_when_the_unit_is_down, setup),
        cmocka_unit_test_setup(a_load_ends_when_systemd_has_parsed_the_file, setup),
        cmocka_unit_test_setup(a_destroy_ends_when_it_is_gone_from_every_node, setup),
        cmocka_unit_test_setup(an_unload_ends_when_it_is_gone_and_the_record_stays, setup),
        cmocka_unit_test_setup(a_global_unit_is_waited_for_on_every_node_that_is_not_lost, setup),
        cmocka_unit_test_setup(what_is_seen_counts_whatever_was_asked_for, setup),
        cmocka_unit_test_setup(a_unit_without_a_node_is_inactive_once_all_hosts_are_heard, setup),
        cmocka_unit_test_setup(a_unit_is_inactive_when_it_is_down_where_it_was_before_too, setup),
        cmocka_unit_test_setup(a_unit_that_was_not_begun_is_inactive, setup),
        cmocka_unit_test_setup(a_global_unit_is_active_when_it_is_on_all_nodes_that_are_not_lost,
                               setup),
        cmocka_unit_test_setup(the_log_knows_of_a_one_shot_that_failed, setup),
        cmocka_unit_test_setup(an_unknown_unit_is_gone_and_else_refused, setup),
        cmocka_unit_test_setup(a_template_runs_nowhere, setup)
)
