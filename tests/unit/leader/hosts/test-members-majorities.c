// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Members that leave as long as most of the others answer, and the jobs of that.
#include "member-words.h"
#include "message.h"
#include "messages.h"
#include "str.h"

static int setup(void **state) {
        return begin_with_ca();
}

static int teardown(void **state) {
        end_with_ca();
        return 0;
}

// ----------------------------------------------------------------------------------------------- majorities

static RigAnswer *cluster_role(const char *host, bool promote) {
        Argosy__Request__ClusterRole m =
                MESSAGE_OF(request__cluster_role, .host = (char *) host, .promote = promote);
        Argosy__Request request = REQUEST_OF(CLUSTER_ROLE, cluster_role, &m);

        return g.slow ? rig_ask(&g, &request) : rig_ask_and_settle(&g, &request);
}

static void assert_says(const RigAnswer *a, int status, const char *words) {
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, status);
        if (!strstr(a->responses[0]->message, words))
                fail_msg("\"%s\" does not say \"%s\"", a->responses[0]->message, words);
}

static const char *notice(void) {
        static char text[512];
        Argosy__Request__ClusterStatus m = ARGOSY__REQUEST__CLUSTER_STATUS__INIT;
        RigAnswer *a = rig_ask(&g, A_REQUEST(CLUSTER_STATUS, cluster_status, &m));

        snprintf(text, sizeof(text), "%s", a->responses[0]->cluster_status->notice);
        return text;
}

static void a_voter_without_whom_no_majority_answers_stays_one(void **state) {
        unsigned batches;

        rig_host_off(&g, 2);
        batches = g.batches;
        assert_says(cluster_remove("n3"), EEXIST,
                    "first remove n2, which does not answer; nothing was changed");
        assert_says(cluster_role("n3", false), EEXIST, "first demote n2");
        assert_says(cluster_remove("n1"), EEXIST, "first remove n2");
        const Argosy__HostRecord *n3 = cluster_state_find_host(g.state, 3);
        assert_int_equal(n3->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
        assert_false(n3->no_promote);
        assert_int_equal(g.n_members, 3);
        assert_int_equal(g.batches, batches);

        assert_int_equal(cluster_remove("n2")->responses[0]->status, 0); // the order that works
        assert_int_equal(cluster_remove("n3")->responses[0]->status, 0);
        assert_int_equal(g.n_members, 1);
}

// What was heard before it was asked proves nothing; whoever lags gets some time.
static void a_voter_leaves_when_the_others_have_answered_since(void **state) {
        g.lags = true;
        RigAnswer *a = cluster_remove("n3");
        assert_false(a->final);
        assert_int_equal(g.n_members, 3);
        g.lags = false;
        rig_pass_ms(&g, 1000);
        assert_says(a, 0, "");
}

static void who_does_not_catch_up_is_not_waited_for_for_ever(void **state) {
        g.lags = true;
        RigAnswer *a = cluster_role("n3", false);
        rig_pass_ms(&g, 4000);
        assert_false(a->final);
        rig_pass_ms(&g, 2000);
        assert_says(a, EEXIST, "nothing was changed");
        assert_int_equal(g.n_members, 3);
}

// n2 dies when the removal of n3 has begun.
static RigAnswer *remove_until_it_is_stuck(void) {
        g.slow = true;
        RigAnswer *a = cluster_remove("n3");
        assert_int_equal(g.n_held, 1);
        rig_release(&g); // its record says that it is to be no voter
        rig_turns(&g, 10);
        assert_int_equal(g.n_held, 1);
        rig_host_off(&g, 2);
        g.slow = false;
        rig_release(&g); // and that it is none
        rig_settle(&g);
        assert_int_equal(cluster_state_find_host(g.state, 3)->role, ARGOSY__HOST_ROLE__ROLE_SPARE);
        rig_pass_ms(&g, 1000);
        assert_int_equal(g.n_members, 3); // the log's own configuration is as it was
        assert_false(a->final);
        assert_non_null(strstr(notice(), "n3 cannot stop being a voter until n2 answers"));
        assert_non_null(strstr(notice(), "cluster promote n3"));
        return a;
}

static void a_removal_that_has_become_unsafe_waits(void **state) {
        RigAnswer *a = remove_until_it_is_stuck();

        rig_host_on(&g, 2, false);
        rig_pass_ms(&g, 3000);
        assert_says(a, 0, "");
        assert_null(cluster_state_find_host(g.state, 3));
        assert_string_equal(notice(), "");
}

static void fewer_voters_are_not_wanted_where_no_majority_would_answer_on_the_way(void **state) {
        Argosy__Request__ClusterVoters m = MESSAGE_OF(request__cluster_voters, .wanted = 1);

        g.lags = true;
        RigAnswer *a = rig_ask(&g, A_REQUEST(CLUSTER_VOTERS, cluster_voters, &m));
        rig_pass_ms(&g, 4000);
        assert_false(a->final);
        rig_pass_ms(&g, 2000);
        assert_says(a, EEXIST, "nothing was changed");
        assert_says(cluster_voters(3), 0, ""); // as it is
        assert_int_equal(cluster_state_cluster(g.state)->voters_wanted, 3);
        assert_int_equal(g.n_members, 3);
}

// Its log is silent from one moment to the next; that its session is gone shows with the end of its lease.
static void of_fewer_voters_the_silent_one_goes_first(void **state) {
        g.members_silent = 3;
        assert_says(cluster_voters(1), 0, "");
        rig_turns(&g, 20);
        assert_int_equal(cluster_state_find_host(g.state, 3)->role, ARGOSY__HOST_ROLE__ROLE_SPARE);
        rig_pass_ms(&g, 2000);
        assert_string_equal(notice(), "");
        assert_int_equal(g.n_members, 1);
}

// n3 dies when n2 was asked to go: what called for it is a number, and a number calls it off.
static void a_number_calls_off_that_fewer_vote(void **state) {
        Argosy__Request__ClusterVoters m = MESSAGE_OF(request__cluster_voters, .wanted = 1);

        g.slow = true;
        rig_ask(&g, A_REQUEST(CLUSTER_VOTERS, cluster_voters, &m));
        rig_turns(&g, 10);
        assert_int_equal(g.n_held, 1);
        rig_release(&g); // so many are wanted
        rig_turns(&g, 10);
        assert_int_equal(g.n_held, 1);
        rig_host_off(&g, 3);
        g.slow = false;
        rig_release(&g); // n2 is none
        rig_settle(&g);
        rig_pass_ms(&g, 100);
        assert_non_null(strstr(notice(), "n2 cannot stop being a voter until n3 answers"));
        assert_non_null(strstr(notice(), "cluster voters 3"));
        assert_null(strstr(notice(), "promote"));
        assert_says(cluster_voters(3), 0, "");
        rig_pass_ms(&g, 2000);
        assert_string_equal(notice(), "");
        assert_int_equal(g.n_members, 3);
        assert_int_equal(cluster_state_find_host(g.state, 2)->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
}

static void a_promotion_calls_a_waiting_removal_off(void **state) {
        RigAnswer *a = remove_until_it_is_stuck();

        assert_int_equal(cluster_role("n3", true)->responses[0]->status, 0);
        rig_pass_ms(&g, 2000);
        assert_says(a, ECANCELED, "called off");
        assert_int_equal(cluster_state_find_host(g.state, 3)->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
        assert_int_equal(g.n_members, 3);
        assert_false(rig_host(&g, 3)->closed);
        assert_string_equal(notice(), "");
}

// ------------------------------------------------------------------------------------------------ its job

enum { LATER_MS = 1100, ORPHANED_MS = 62 * 1000 };

static void assert_job(uint64_t number, const char *job_state, const char *message) {
        const Argosy__Response__JobRow *row = rig_show_job(&g, number);

        assert_string_equal(row->verb, "cluster remove");
        assert_string_equal(row->state, job_state);
        assert_non_null(strstr(row->message, message));
}

static RigAnswer *wait_for_job(uint64_t number) {
        Argosy__Request__JobWait m = MESSAGE_OF(request__job_wait, .number = number);

        return rig_ask(&g, A_REQUEST(JOB_WAIT, job_wait, &m));
}

// It had begun when there was another host that could have kept the log.
static void a_removal_of_the_last_that_votes_is_refused_in_the_end(void **state) {
        assert_says(cluster_role("n2", false), 0, "");
        rig_pass_ms(&g, 3000);
        assert_int_equal(g.n_members, 1);
        g.slow = true;
        RigAnswer *a = cluster_remove("n1");
        assert_int_equal(g.n_held, 1);
        (void) cluster_role("n3", false);
        g.slow = false;
        rig_release(&g); // n1 is to be no voter
        rig_pass_ms(&g, 3000);
        assert_says(a, EEXIST, "cluster promote n1");
        assert_int_equal(g.n_members, 1);
        assert_int_equal(cluster_state_find_host(g.state, 1)->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
}

static void a_removal_is_done_when_the_host_is_gone(void **state) {
        unsigned batches;

        rig_pass_ms(&g, ORPHANED_MS); // nothing is waited for only since the leader is new
        RigAnswer *a = remove_until_it_is_stuck();
        uint64_t job = rig_last_job(&g);
        RigAnswer *wait = wait_for_job(job);
        rig_pass_ms(&g, ORPHANED_MS); // somebody waits for it
        assert_job(job, "running", "");
        assert_false(wait->final);
        assert_says(rig_job_cancel(&g, job), EALREADY, "nothing of it can be called off");
        rig_host_on(&g, 2, false);
        rig_pass_ms(&g, 3000);
        assert_says(a, 0, "");
        assert_null(cluster_state_find_host(g.state, 3));
        assert_job(job, "done", "");
        assert_true(wait->final);
        assert_string_equal(wait->responses[wait->n - 1]->jobs->rows[0]->state, "done");
        batches = g.batches;
        rig_pass_ms(&g, 5 * LATER_MS);
        assert_int_equal(g.batches, batches); // its end needed no other entry
}

static void a_removal_that_nobody_goes_on_with_has_failed(void **state) {
        (void) remove_until_it_is_stuck();
        uint64_t job = rig_last_job(&g);
        rig_elect_anew(&g);
        assert_job(job, "running", "");
        rig_pass_ms(&g, ORPHANED_MS);
        assert_job(job, "failed", "only a part of it was carried out");
        assert_non_null(cluster_state_find_host(g.state, 3));
}

// Its client comes again to a leader that has not begun it, and somebody else's command has done the rest.
static void a_removal_that_another_one_has_finished_under_the_next_leader_is_done(void **state) {
        uint64_t job, id;

        (void) remove_until_it_is_stuck();
        job = rig_last_job(&g);
        id = g.id;
        rig_elect_anew(&g);
        rig_host_on(&g, 2, false);
        (void) cluster_remove("n3");
        rig_pass_ms(&g, 3000);
        assert_null(cluster_state_find_host(g.state, 3));
        assert_job(job, "running", "");
        g.id = id - 1;
        assert_says(cluster_remove("n3"), 0, "");
        rig_pass_ms(&g, ORPHANED_MS);
        assert_job(job, "done", "");
}

static void a_removal_that_is_called_off_has_failed(void **state) {
        (void) remove_until_it_is_stuck();
        uint64_t job = rig_last_job(&g);
        (void) cluster_role("n3", true);
        rig_pass_ms(&g, ORPHANED_MS);
        assert_job(job, "failed", "only a part of it was carried out");
}

static void a_removal_that_another_one_has_finished_is_done(void **state) {
        g.slow = true;
        RigAnswer *first = cluster_remove("n3");
        assert_int_equal(g.n_held, 1); // that it is to be no voter
        RigAnswer *second = cluster_remove("n3");
        uint64_t job = rig_last_job(&g) + 1;
        rig_hurry_and_settle(&g);
        rig_pass_ms(&g, ORPHANED_MS);
        assert_says(first, 0, "");
        assert_says(second, 0, "");
        assert_int_equal(rig_last_job(&g), job + 1);
        assert_job(job, "done", "");
        assert_job(job + 1, "done", "");
}

// What it moves is still waited for by who has started it.
static void a_removal_overtakes_nobody(void **state) {
        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = true;
        (void) rig_change(&g, ARGOSY__VERB__VERB_START, "a.service",
                          "[Service]\nExecStart=/bin/sleep 1000\n");
        uint64_t start = rig_last_job(&g);
        uint32_t host = rig_host_of(&g, "a.service");
        assert_in_range(host, 2, 3);
        assert_says(cluster_remove(host == 2 ? "n2" : "n3"), 0, "");
        assert_int_not_equal(rig_host_of(&g, "a.service"), host);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(cluster_state_job_state(g.state, start), ARGOSY__JOB_STATE__JOB_RUNNING);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
        rig_settle(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(cluster_state_job_state(g.state, start), ARGOSY__JOB_STATE__JOB_DONE);
}

// Its own entry takes the units off the host.
static void a_removal_by_force_overtakes_nobody(void **state) {
        Argosy__Request__ClusterRemove m = MESSAGE_OF(request__cluster_remove, .force = true);

        (void) rig_set_host_mode(&g, 1, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = true;
        (void) rig_change(&g, ARGOSY__VERB__VERB_START, "a.service",
                          "[Service]\nExecStart=/bin/sleep 1000\n");
        uint64_t start = rig_last_job(&g);
        uint32_t host = rig_host_of(&g, "a.service");
        m.host = (char *) (host == 2 ? "n2" : "n3");
        rig_host_off(&g, host);
        assert_says(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m)), 0, "");
        assert_int_not_equal(rig_host_of(&g, "a.service"), host);
        assert_int_equal(cluster_state_job_state(g.state, start), ARGOSY__JOB_STATE__JOB_RUNNING);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
        rig_settle(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(cluster_state_job_state(g.state, start), ARGOSY__JOB_STATE__JOB_DONE);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(
                fewer_voters_are_not_wanted_where_no_majority_would_answer_on_the_way, setup,
                teardown),
        cmocka_unit_test_setup_teardown(of_fewer_voters_the_silent_one_goes_first, setup, teardown),
        cmocka_unit_test_setup_teardown(a_number_calls_off_that_fewer_vote, setup, teardown),
        cmocka_unit_test_setup_teardown(a_voter_without_whom_no_majority_answers_stays_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_voter_leaves_when_the_others_have_answered_since, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_does_not_catch_up_is_not_waited_for_for_ever, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_removal_that_has_become_unsafe_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_promotion_calls_a_waiting_removal_off, setup, teardown),
        cmocka_unit_test_setup_teardown(a_removal_of_the_last_that_votes_is_refused_in_the_end,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_removal_is_done_when_the_host_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_removal_that_nobody_goes_on_with_has_failed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_removal_that_is_called_off_has_failed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_removal_that_another_one_has_finished_is_done, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
                a_removal_that_another_one_has_finished_under_the_next_leader_is_done, setup,
                teardown),
        cmocka_unit_test_setup_teardown(a_removal_overtakes_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_removal_by_force_overtakes_nobody, setup, teardown)
)
