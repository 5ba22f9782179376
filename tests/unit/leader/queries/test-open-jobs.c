// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How jobs end: when a wait for them would, once, in an entry that is there anyhow or a second later, under
// any leader.
#include "batch.h"
#include "messages.h"
#include "open-jobs-words.h"

// ------------------------------------------------------------------------------------------------ when

static void an_end_gets_an_entry_of_its_own_after_a_second(void **state) {
        unsigned batches;
        uint64_t job = change(START, "a.service", SERVICE);

        batches = g.batches;
        assert_int_equal(state_of(job), RUNNING);
        rig_pass_ms(&g, 500);
        assert_int_equal(g.batches, batches);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(g.batches, batches + 1);
        assert_int_equal(state_of(job), DONE);
        rig_pass_ms(&g, 5 * LATER_MS);
        assert_int_equal(g.batches, batches + 1);
}

static const Argosy__Response__JobRow *listed(Argosy__JobState wanted, uint64_t number) {
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.states = &wanted, .n_states = 1, .number = number);
        const Argosy__Response__Jobs *jobs;

        jobs = rig_last(rig_list_jobs(&g, &list))->jobs;
        return jobs->n_rows > 0 ? jobs->rows[0] : NULL;
}

static uint64_t n_running(void) {
        CounterList all = {};
        uint64_t n = 0;

        leader_figures(g.leader, &all);
        for (size_t i = 0; i < all.n; i++)
                if (streq(all.rows[i].of.name, "open_jobs") &&
                    streq(all.rows[i].labels[1].value ?: "", "running"))
                        n += all.rows[i].value;
        counter_list_done(&all);
        return n;
}

static void figures_say_how_one_has_ended_before_the_log_has_it(void **state) {
        rig_set_lazy(&g, true);
        uint64_t job = change(START, "a.service", SERVICE);
        assert_int_equal(n_running(), 1);
        rig_set_lazy(&g, false);
        assert_int_equal(state_of(job), RUNNING);
        assert_int_equal(n_running(), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(n_running(), 0);
}

// Whoever has waited for the units asks before the log has the end.
static void lists_say_how_one_has_ended_before_the_log_has_it(void **state) {
        rig_set_lazy(&g, true);
        uint64_t job = change(START, "a.service", SERVICE);
        assert_string_equal(listed(RUNNING, 0)->state, "running");
        rig_set_lazy(&g, false);
        assert_int_equal(state_of(job), RUNNING);
        assert_null(listed(RUNNING, 0));
        const Argosy__Response__JobRow *row = listed(DONE, 0);
        assert_non_null(row);
        assert_int_equal(row->job, job);
        assert_true(row->ended_us > 0);
        uint64_t bad = change(START, "bad.service", BAD);
        assert_int_equal(state_of(bad), RUNNING);
        row = listed(FAILED, bad);
        assert_string_equal(row->state, "failed");
        assert_int_equal(row->failed, 1);
        assert_string_equal(row->units[0]->end, "failed");
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(bad), FAILED);
        row = listed(FAILED, bad);
        assert_int_equal(row->failed, 1);
        assert_int_equal(row->n_units, 1);
}

static void start_on_probation(uint64_t *ret_job, uint64_t *ret_revision) {
        g.timed = true;
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->virtual.on_probation = true;
        *ret_job = change(START, "a.service", SERVICE);
        *ret_revision = rig_record(&g, "a.service")->revision;
        rig_pass_ms(&g, 5 * LATER_MS);
}

static void say_lived(uint32_t host) {
        assert_int_equal(virtual_host_say_lived(&rig_host(&g, host)->virtual), 0);
        rig_settle(&g);
}

// Whatever was reported of them: they are up all the while.
static void a_start_on_probation_ends_when_its_host_says_that_it_has_lived(void **state) {
        uint64_t job, revision;

        start_on_probation(&job, &revision);
        RigAnswer *a = rig_wait(&g, START, "a.service", revision);
        assert_int_equal(state_of(job), RUNNING);
        assert_false(a->final);
        say_lived(rig_host_of(&g, "a.service") % 3 + 1); // that is another's word
        assert_false(a->final);
        say_lived(rig_host_of(&g, "a.service"));
        assert_true(a->final);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_true(rig_wait(&g, START, "a.service", revision)->final);
}

static void a_new_leader_waits_for_that_word_itself(void **state) {
        uint64_t job, revision;

        start_on_probation(&job, &revision);
        rig_elect_anew(&g);
        RigAnswer *a = rig_wait(&g, START, "a.service", revision);
        assert_false(a->final);
        say_lived(rig_host_of(&g, "a.service"));
        assert_true(a->final);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
}

// It is judged whenever something is seen of its unit.
static void a_unit_may_be_reported_again_before_that_word(void **state) {
        uint64_t job, revision;

        start_on_probation(&job, &revision);
        uint32_t host = rig_host_of(&g, "a.service");
        for (int i = 0; i < 3; i++) {
                rig_host_report_and_settle(&g, rig_host(&g, host), rig_unit_on(&g, host, "a.service"),
                                           ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, ARGOSY__OUTCOME__KIND__NONE);
                assert_int_equal(state_of(job), RUNNING);
        }
        say_lived(host);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
}

// What was said of its process on a host that is lost is no matter of the run on another host.
static void a_lost_host_s_word_is_not_waited_for(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service"};
        const char *name = NULL;
        uint32_t host = 0;

        g.timed = true;
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->virtual.on_probation = true;
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                (void) change(START, names[i], SERVICE);
                if (rig_host_of(&g, names[i]) > 1)
                        name = names[i];
        }
        host = rig_host_of(&g, name);
        for (uint32_t h = 1; h <= 3; h++)
                say_lived(h);
        rig_host_off_for(&g, host, 3 * RIG_LEASE_MS);
        assert_int_not_equal(rig_host_of(&g, name), host);
        (void) change(STOP, name, NULL);
        (void) change(START, name, NULL);
        rig_pass_ms(&g, LATER_MS);
        RigAnswer *a = rig_wait(&g, START, name, rig_record(&g, name)->revision);
        assert_false(a->final);
        say_lived(rig_host_of(&g, name));
        assert_true(a->final);
}

// Who waits may go first.
static void a_wait_on_probation_may_be_cancelled(void **state) {
        uint64_t job, revision;

        start_on_probation(&job, &revision);
        rig_cancel(&g, rig_wait(&g, START, "a.service", revision));
        (void) change(STOP, "a.service", NULL);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), OVERTAKEN);
        say_lived(rig_host_of(&g, "a.service"));
}

static void ends_ride_along(void **state) {
        unsigned batches;

        batches = g.batches;
        uint64_t first = change(START, "a.service", SERVICE);
        for (unsigned i = 0; i < 20; i++)
                (void) change(i % 2 ? START : STOP, "a.service", NULL);
        assert_int_equal(g.batches, batches + 21);
        uint64_t last = rig_last_job(&g);
        for (uint64_t n = first; n < last; n++)
                assert_true(state_of(n) > RUNNING);
        assert_int_equal(state_of(last), RUNNING);
}

static void what_ends_with_its_effect_needs_no_other_entry(void **state) {
        unsigned batches;
        uint64_t job = change(SUBMIT, "a.service", SERVICE);

        batches = g.batches;
        assert_int_equal(state_of(job), DONE);
        (void) rig_label(&g, "n2", "disk", "ssd");
        assert_int_equal(state_of(job + 1), DONE);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        assert_int_equal(state_of(job + 2), DONE);
        rig_pass_ms(&g, 5 * LATER_MS);
        assert_int_equal(g.batches, batches + 2);
}

static void a_job_runs_as_long_as_a_wait_would(void **state) {
        rig_set_lazy(&g, true);
        uint64_t job = change(START, "a.service", SERVICE);
        rig_pass_ms(&g, 5 * LATER_MS);
        assert_int_equal(state_of(job), RUNNING);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
}

// ------------------------------------------------------------------------------------------------ how

static void what_failed_is_kept_with_node_and_reason(void **state) {
        uint64_t job = change(START, "a.service", BAD);

        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_string_equal(row->state, "failed");
        assert_true(row->ended_us > 0);
        assert_int_equal(row->failed, 1);
        assert_string_equal(row->units[0]->end, "failed");
        assert_int_equal(row->units[0]->node[0], 'n');
        assert_true(*row->units[0]->end_message);
        (void) rig_change_with(&g, START, "a.service", SERVICE, true, NULL); // it is well now
        rig_settle(&g);
        assert_string_equal(rig_show_job(&g, job)->units[0]->end, "failed");
}

static void what_finds_no_place_is_told_why(void **state) {
        for (uint32_t h = 1; h <= 3; h++)
                (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        uint64_t job = change(START, "a.service", SERVICE);
        rig_pass_ms(&g, LATER_MS);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_string_equal(row->state, "failed");
        assert_int_equal(row->unplaced, 1);
        assert_string_equal(row->units[0]->end, "unplaced");
        assert_non_null(strstr(row->units[0]->end_message, "no node takes it at present: n1, n2, n3: "));
}

static void who_comes_later_overtakes(void **state) {
        rig_set_lazy(&g, true);
        uint64_t start = change(START, "a.service", SERVICE);
        uint64_t stop = change(STOP, "a.service", NULL);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(start), OVERTAKEN);
        assert_int_equal(state_of(stop), RUNNING);
        const Argosy__Response__JobRow *row = rig_show_job(&g, start);
        assert_int_equal(row->overtaken, 1);
        assert_string_equal(row->units[0]->end, "overtaken");
        assert_int_equal(row->units[0]->by, stop);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(stop), DONE);
}

// A failover is no job: what was asked for is waited for where the unit goes.
static void a_move_overtakes_nobody(void **state) {
        rig_set_lazy(&g, true);
        uint64_t job = change(START, "a.service", SERVICE);
        uint32_t host = rig_host_of(&g, "a.service");
        if (host == 1) { // the leader's own stays
                rig_set_lazy(&g, false);
                return;
        }
        rig_host_off_for(&g, host, 5 * RIG_LEASE_MS);
        assert_int_not_equal(rig_host_of(&g, "a.service"), host);
        assert_int_equal(state_of(job), RUNNING);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        rig_host_on(&g, host, true);
}

static void what_is_destroyed_ends_when_it_is_gone(void **state) {
        (void) change(START, "a.service", SERVICE);
        rig_set_deaf(&g, true);
        uint64_t job = change(ARGOSY__VERB__VERB_DESTROY, "a.service", NULL);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), RUNNING);
        rig_set_deaf(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_null(unit_find(g.leader, "a.service")); // nobody waits for it any more
}

// What host 2 holds, in a message of the kind: nothing; more is to come, unless it is the last part.
static void say_that_nothing_is_held(Argosy__ToVoter__MsgCase what) {
        Argosy__ToVoter said = MESSAGE_OF(to_voter, .msg_case = what);
        Argosy__ToVoter__AttachPart part = MESSAGE_OF(to_voter__attach_part, .seq = 1000, .last = true);
        Argosy__ToVoter__Attach attach = ATTACH_OF(.seq = 1000, .parts = true);

        if (what == ARGOSY__TO_VOTER__MSG_ATTACH)
                said.attach = &attach;
        else
                said.attach_part = &part;
        rig_host_lie(&g, 2, message_copy(&said));
        rig_settle(&g);
}

// Its host was told, did so, and its word of that was lost; then it says in several turns what it has.
static void what_is_taken_away_ends_when_all_parts_have_come_without_it(void **state) {
        static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_DESTROY, ARGOSY__VERB__VERB_UNLOAD};

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                (void) change(START, "a.service", SERVICE "[X-Argosy]\nHost=n2\n");
                rig_host_off(&g, 2);
                uint64_t job = change(verbs[i], "a.service", NULL);
                say_that_nothing_is_held(ARGOSY__TO_VOTER__MSG_ATTACH);
                rig_pass_ms(&g, LATER_MS);
                assert_int_equal(state_of(job), RUNNING);
                say_that_nothing_is_held(ARGOSY__TO_VOTER__MSG_ATTACH_PART);
                rig_pass_ms(&g, LATER_MS);
                assert_int_equal(state_of(job), DONE);
                rig_host_on(&g, 2, true);
        }
}

// Nobody waits for a lost host that runs it without a guard: that it may do so is said.
static void what_is_taken_away_ends_when_its_host_is_lost_between_parts(void **state) {
        (void) change(START, "a.service", SERVICE "[X-Argosy]\nHost=n2\nNodeLost=never\n");
        rig_host_off(&g, 2);
        uint64_t job = change(ARGOSY__VERB__VERB_DESTROY, "a.service", NULL);
        say_that_nothing_is_held(ARGOSY__TO_VOTER__MSG_ATTACH);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), RUNNING);
        rig_pass_ms(&g, 2 * (uint64_t) g.lease_ms + LATER_MS);
        assert_int_not_equal(state_of(job), RUNNING);
}

// ----------------------------------------------------------------------------------------------- other jobs

static void a_drain_ends_when_the_node_is_empty(void **state) {
        (void) change(START, "a.service", SERVICE);
        uint32_t host = rig_host_of(&g, "a.service");
        rig_set_deaf(&g, true);
        (void) rig_set_host_mode(&g, host, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        uint64_t job = rig_last_job(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), RUNNING);
        rig_set_deaf(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
}

static void a_drain_that_cannot_go_on_has_failed(void **state) {
        (void) change(START, "a.service", SERVICE);
        uint32_t host = rig_host_of(&g, "a.service");
        for (uint32_t h = 1; h <= 3; h++)
                if (h != host)
                        (void) rig_set_host_mode(&g, h, ARGOSY__NODE_MODE__MODE_CORDONED, 0);
        (void) rig_set_host_mode(&g, host, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        uint64_t job = rig_last_job(&g);
        rig_pass_ms(&g, LATER_MS);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_string_equal(row->state, "failed");
        assert_non_null(strstr(row->message, "no other node takes"));
}

// Whether it was empty nobody can see any more.
static void of_a_node_that_was_removed_nobody_says_that_it_was_empty(void **state) {
        (void) change(START, "a.service", SERVICE);
        (void) change(START, "b.service", SERVICE);
        uint32_t host = rig_host_of(&g, "a.service") > 1 ? rig_host_of(&g, "a.service")
                                                         : rig_host_of(&g, "b.service");
        rig_set_deaf(&g, true);
        (void) rig_set_host_mode(&g, host, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        uint64_t job = rig_last_job(&g);
        rig_host_off_for(&g, host, LATER_MS);
        assert_int_equal(state_of(job), RUNNING);
        Argosy__Request__ClusterRemove m = MESSAGE_OF(
                request__cluster_remove, .host = (char *) (host == 2 ? "n2" : "n3"), .force = true);
        assert_int_equal(
                rig_last(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m)))->status, 0);
        rig_pass_ms(&g, LATER_MS);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_string_equal(row->state, "failed");
        assert_non_null(strstr(row->message, m.host));
        assert_non_null(strstr(
                row->message, "is not in the cluster any more: whether all units had left it is not known"));
        rig_set_deaf(&g, false);
}

static void an_uncordon_overtakes_a_drain(void **state) {
        (void) change(START, "a.service", SERVICE);
        uint32_t host = rig_host_of(&g, "a.service");
        rig_set_deaf(&g, true);
        (void) rig_set_host_mode(&g, host, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        uint64_t job = rig_last_job(&g);
        (void) rig_set_host_mode(&g, host, ARGOSY__NODE_MODE__MODE_OPEN, 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), OVERTAKEN);
        rig_set_deaf(&g, false);
}

static uint64_t update(const char *content) {
        const Argosy__Response *r =
                rig_last(rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "web@.service",
                                                      content, .health_ms = HEALTH_MS}));

        assert_int_equal(r->status, 0);
        assert_int_equal(r->job, rig_last_job(&g));
        return r->job;
}

static void an_update_ends_when_its_rollout_does(void **state) {
        (void) change(SUBMIT, "web@.service", SERVICE);
        (void) change(START, "web@1.service", NULL);
        (void) change(START, "web@2.service", NULL);
        uint64_t job = update(OTHER);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), RUNNING);
        for (unsigned i = 0; i < 40 && state_of(job) == RUNNING; i++)
                rig_pass_ms(&g, 500);
        assert_int_equal(state_of(job), DONE);
        job = update(BAD);
        for (unsigned i = 0; i < 80 && state_of(job) == RUNNING; i++)
                rig_pass_ms(&g, 500);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_string_equal(row->state, "failed");
        assert_true(*row->message);
}

// ------------------------------------------------------------------------------------------------ who waits

static void who_waits_is_told_when_the_log_has_it(void **state) {
        rig_set_lazy(&g, true);
        uint64_t job = change(START, "a.service", SERVICE);
        RigAnswer *a = wait_for(job);
        assert_false(a->final);
        assert_int_equal(rig_last(a)->progress->remaining, 1);
        rig_set_lazy(&g, false); // and no second passes
        assert_true(a->final);
        assert_int_equal(rig_last(a)->jobs->n_rows, 1);
        assert_string_equal(rig_last(a)->jobs->rows[0]->state, "done");
        assert_int_equal(state_of(job), DONE);
        a = wait_for(job);
        assert_true(a->final);
        assert_string_equal(rig_last(a)->jobs->rows[0]->state, "done");
}

static void who_waits_hears_what_failed(void **state) {
        RigAnswer *a = wait_for(change(START, "a.service", BAD)); // it has ended, and is not written yet

        assert_true(a->final);
        const Argosy__Response__JobRow *row = rig_last(a)->jobs->rows[0];
        assert_string_equal(row->state, "failed");
        assert_int_equal(row->n_ends, 1);
        assert_string_equal(row->ends[0]->unit, "a.service");
        a = wait_for(rig_last_job(&g) + 1);
        assert_final(a, ENOENT);
}

// The log keeps a job that is too old only until it has ended.
static uint64_t start_and_grow_old(const char *name, const char *content) {
        uint64_t job = change(START, name, content);

        rig_age(&g, (CLUSTER_JOB_DAYS_MAX + 1) * UINT64_C(86400) * USEC_PER_SEC);
        (void) change(SUBMIT, "young.service", SERVICE);
        assert_true(cluster_state_first_job(g.state) > job);
        assert_int_equal(state_of(job), RUNNING);
        return job;
}

static void who_waits_for_what_the_log_forgets_hears_how_it_ended(void **state) {
        rig_set_lazy(&g, true);
        uint64_t job = start_and_grow_old("a.service", BAD);
        RigAnswer *a = wait_for(job);
        assert_false(a->final);
        rig_set_lazy(&g, false);
        assert_true(a->final);
        assert_int_equal(state_of(job), ARGOSY__JOB_STATE__JOB_UNKNOWN);
        assert_int_equal(rig_last(wait_for(job))->status, ENOENT); // and since when jobs are kept
        assert_non_null(strstr(rig_last(wait_for(job))->message,
                               "not kept any more: the oldest that is kept is 2, of "));
        assert_non_null(strstr(rig_last(wait_for(job))->message, " UTC"));
        assert_int_equal(rig_last(a)->status, 0);
        const Argosy__Response__JobRow *row = rig_last(a)->jobs->rows[0];
        assert_int_equal(row->job, job);
        assert_string_equal(row->verb, "start");
        assert_string_equal(row->state, "failed");
        assert_int_equal(row->n_ends, 1);
        assert_string_equal(row->ends[0]->unit, "a.service");
        assert_int_equal(rig_last(wait_for(job))->status, ENOENT); // nobody knows any more
}

static void jobs_are_listed_by_state(void **state) {
        const Argosy__Response__Jobs *jobs;
        Argosy__JobState wanted = RUNNING;

        (void) change(SUBMIT, "a.service", SERVICE);
        rig_set_lazy(&g, true);
        uint64_t job = change(START, "b.service", SERVICE);
        Argosy__Request__ListJobs list = LIST_JOBS_OF(.states = &wanted, .n_states = 1);
        jobs = rig_last(rig_list_jobs(&g, &list))->jobs;
        assert_int_equal(jobs->n_rows, 1);
        assert_int_equal(jobs->rows[0]->job, job);
        assert_string_equal(jobs->rows[0]->state, "running");
        list.since_us = UINT64_MAX;
        assert_int_equal(rig_last(rig_list_jobs(&g, &list))->jobs->n_rows, 0);
        rig_set_lazy(&g, false);
}

// ------------------------------------------------------------------------------------------------ leaders

static void a_new_leader_goes_on_with_all_of_them(void **state) {
        uint64_t start, stop, submit, drain, told, ended_us;
        Argosy__JobRecord *record;

        told = change(START, "a.service", BAD);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(cluster_state_read_job(g.state, told, &record), 0);
        ended_us = record->ended_us;
        message_free(record);
        rig_set_lazy(&g, true);
        start = change(START, "b.service", SERVICE);
        stop = change(STOP, "b.service", NULL); // that it has overtaken the other is not written yet
        submit = change(SUBMIT, "c.service", SERVICE);
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        drain = rig_last_job(&g);
        rig_elect_anew(&g);
        assert_int_equal(state_of(stop), RUNNING);
        RigAnswer *a = wait_for(stop);
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_true(a->final);
        assert_int_equal(state_of(start), OVERTAKEN);
        assert_int_equal(state_of(stop), DONE);
        assert_int_equal(state_of(submit), DONE);
        assert_int_equal(state_of(drain), DONE);
        assert_int_equal(cluster_state_read_job(g.state, told, &record), 0);
        assert_int_equal(record->ended_us, ended_us); // not again
        assert_int_equal(record->n_ends, 1);
        message_free(record);
}

static void lose_entry(void) {
        g.n_held = 0;
        buf_done(&g.held[0].batch);
        g.held[0].done(STORE_UNKNOWN, 0, g.held[0].data);
}

// The entry with the end is on its way when its leader goes: whether the log has it or not, the next one
// ends it once.
static void an_end_on_its_way_is_not_lost(void **state) {
        for (unsigned lost = 0; lost < 2; lost++) {
                Argosy__JobRecord *record;
                uint64_t job = change(START, lost ? "a.service" : "b.service", BAD);

                g.slow = true;
                g.now_us += LATER_MS * USEC_PER_MSEC;
                leader_on_time(g.leader);
                rig_turns(&g, 5);
                assert_int_equal(g.n_held, 1);
                assert_int_equal(state_of(job), RUNNING);
                if (!lost)
                        rig_release(&g);
                rig_depose(&g);
                if (lost)
                        lose_entry();
                g.slow = false;
                rig_elect(&g);
                rig_pass_ms(&g, LATER_MS);
                assert_int_equal(state_of(job), FAILED);
                assert_int_equal(cluster_state_read_job(g.state, job, &record), 0);
                assert_int_equal(record->n_ends, 1);
                message_free(record);
        }
}

// What the log has of where it may still run is of the former unit of that name.
static void the_end_of_a_former_unit_overtakes_nobody(void **state) {
        static const char *const nodes[] = {"n1", "n2", "n3"};
        Argosy__JobRecord *record;
        uint64_t former, start;
        _cleanup_(batch_done) Batch b = {};

        (void) change(START, "a.service", SERVICE);
        RigHost *h = rig_host(&g, rig_host_of(&g, "a.service"));
        h->up = h->linked = false;
        rig_settle(&g);
        former = change(ARGOSY__VERB__VERB_DESTROY, "a.service", NULL);
        for (size_t i = 0; i < ELEMENTSOF(nodes); i++)
                (void) rig_set_mode(&g, nodes[i], ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        start = change(START, "a.service", SERVICE);
        batch_unit_remove(&b, "a.service");
        (void) batch_job(&b, (JobPut){.n_ops = 1, .verb = "destroy"});
        rig_propose(&g, &b); // the next leader knows it by the log alone
        rig_elect_anew(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(start), OVERTAKEN);
        assert_int_equal(cluster_state_read_job(g.state, start, &record), 0);
        assert_int_equal(record->n_ends, 1);
        assert_int_not_equal(record->ends[0]->by, former);
        message_free(record);
}

static void who_waits_is_told_that_the_leader_is_gone(void **state) {
        rig_set_lazy(&g, true);
        RigAnswer *a = wait_for(change(START, "a.service", SERVICE));
        assert_false(a->final);
        rig_depose(&g);
        assert_true(a->final);
        assert_true(rig_last(a)->no_leader);
        rig_elect(&g);
        a = wait_for(rig_last_job(&g));
        rig_set_lazy(&g, false);
        rig_pass_ms(&g, LATER_MS);
        assert_string_equal(rig_last(a)->jobs->rows[0]->state, "done");
}

RUN_TESTS(
        TEST(an_end_gets_an_entry_of_its_own_after_a_second),
        TEST(lists_say_how_one_has_ended_before_the_log_has_it),
        TEST(figures_say_how_one_has_ended_before_the_log_has_it),
        TEST(ends_ride_along),
        TEST(what_ends_with_its_effect_needs_no_other_entry),
        TEST(a_job_runs_as_long_as_a_wait_would),
        TEST(what_failed_is_kept_with_node_and_reason),
        TEST(what_finds_no_place_is_told_why),
        TEST(who_comes_later_overtakes),
        TEST(a_move_overtakes_nobody),
        TEST(what_is_destroyed_ends_when_it_is_gone),
        TEST(what_is_taken_away_ends_when_all_parts_have_come_without_it),
        TEST(what_is_taken_away_ends_when_its_host_is_lost_between_parts),
        TEST(a_start_on_probation_ends_when_its_host_says_that_it_has_lived),
        TEST(a_new_leader_waits_for_that_word_itself),
        TEST(a_unit_may_be_reported_again_before_that_word),
        TEST(a_lost_host_s_word_is_not_waited_for),
        TEST(a_wait_on_probation_may_be_cancelled),
        TEST(a_drain_ends_when_the_node_is_empty),
        TEST(a_drain_that_cannot_go_on_has_failed),
        TEST(an_uncordon_overtakes_a_drain),
        TEST(of_a_node_that_was_removed_nobody_says_that_it_was_empty),
        TEST(an_update_ends_when_its_rollout_does),
        TEST(who_waits_is_told_when_the_log_has_it),
        TEST(who_waits_hears_what_failed),
        TEST(who_waits_for_what_the_log_forgets_hears_how_it_ended),
        TEST(jobs_are_listed_by_state),
        TEST(a_new_leader_goes_on_with_all_of_them),
        TEST(an_end_on_its_way_is_not_lost),
        TEST(the_end_of_a_former_unit_overtakes_nobody),
        TEST(who_waits_is_told_that_the_leader_is_gone)
)
