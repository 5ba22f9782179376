// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A rebalance that is held back is a job like any other: it waits behind the one that is under way, or for a
// person, and is carried out once, by whoever leads then, whether somebody listens or not.
#include "held-jobs.h"
#include "messages.h"
#include "rebalance-words.h"
#include "rig-pool.h"
#include "str.h"

#define HELD ARGOSY__JOB_STATE__JOB_HELD
#define RUNNING ARGOSY__JOB_STATE__JOB_RUNNING
#define DONE ARGOSY__JOB_STATE__JOB_DONE
#define FAILED ARGOSY__JOB_STATE__JOB_FAILED
#define CANCELLED ARGOSY__JOB_STATE__JOB_CANCELLED

enum { LATER_MS = 1100, UNITS = 12, MOVES = 4, LONG_MS = 24 * START_MS };

static Argosy__JobState state_of(uint64_t job) {
        return cluster_state_job_state(g.state, job);
}

static size_t n_stored(void) {
        size_t n;

        (void) cluster_state_stored_requests(g.state, &n);
        return n;
}

// One of a group that moves one by one, each of which takes its time.
static RigAnswer *begin_slowly(unsigned max_moves) {
        start_on_two(UNITS, ONE_DOWN);
        g.start_ms = START_MS;
        RigAnswer *a = ask((Wish){.id = 1, .max_moves = max_moves});
        assert_int_equal(units_on(3), 1);
        return a;
}

// The number of its job.
static uint64_t hold(Wish w) {
        const RigAnswer *a = ask(w);
        const Argosy__Response *r = a->final ? rig_last(a) : NULL;

        assert_non_null(r);
        assert_int_equal(r->status, 0);
        assert_true(r->held);
        assert_int_equal(r->job, rig_last_job(&g));
        assert_int_equal(state_of(r->job), HELD);
        assert_string_equal(rig_show_job(&g, r->job)->verb, "rebalance");
        return r->job;
}

static RigAnswer *ask_about_job(Argosy__Request *request) {
        return rig_ask_and_settle(&g, request);
}

static int cancel(uint64_t job) {
        return rig_last(rig_job_cancel(&g, job))->status;
}

static int release(uint64_t job) {
        Argosy__Request__JobRelease m = MESSAGE_OF(request__job_release, .numbers = &job, .n_numbers = 1);

        return rig_last(ask_about_job(A_REQUEST(JOB_RELEASE, job_release, &m)))->status;
}

static RigAnswer *wait_for(uint64_t job) {
        Argosy__Request__JobWait m = MESSAGE_OF(request__job_wait, .number = job);

        return ask_about_job(A_REQUEST(JOB_WAIT, job_wait, &m));
}

static void assert_waits_for(uint64_t job, uint64_t first) {
        _cleanup_free_ char *word = str_printf("job %lu,", (unsigned long) first);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);

        assert_string_equal(row->state, "held");
        assert_non_null(strstr(row->held_by, word));
        row = rig_show_job(&g, first);
        assert_int_equal(row->n_waiting, 1);
        assert_int_equal(row->waiting[0], job);
}

static void add_rule(Argosy__QueueRule rule) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .add = &rule);

        assert_int_equal(rig_last(ask_about_job(A_REQUEST(QUEUE_CHANGE, queue_change, &m)))->status, 0);
}

static void next_leader(void) {
        rig_elect_anew(&g);
}

// --------------------------------------------------------------------------------------- behind another one

static void one_that_comes_while_another_one_is_under_way_is_a_job_that_waits_for_it(void **state) {
        RigAnswer *first = begin_slowly(1);
        uint64_t before = rig_last_job(&g);

        assert_int_equal(rig_last(ask((Wish){.id = 2}))->status, EEXIST);
        uint64_t job = hold((Wish){.id = 3, .queue = true});
        assert_int_equal(job, before + 1);
        assert_waits_for(job, before);
        RigAnswer *wait = wait_for(job);
        // others pass it
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_STOP, "web@12.service", NULL)->status, 0);
        assert_false(wait->final);
        watch(first, UNITS);
        assert_int_equal(rig_last(first)->status, 0);
        rig_pass_ms(&g, LONG_MS);
        assert_true(wait->final);
        assert_int_equal(state_of(job), DONE);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_string_equal(row->held_by, "");
        assert_true(row->changed > 0 && row->asked_us > 0);
        assert_int_equal(n_stored(), 0);
        assert_null(g.leader->rebalance);
}

static void whoever_does_not_wait_is_told_the_same(void **state) {
        RigAnswer *first = begin_slowly(0);
        uint64_t job = hold((Wish){.id = 2, .queue = true, .no_wait = true});

        watch(first, UNITS);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE); // there was nothing left to do
        assert_int_equal(rig_show_job(&g, job)->changed, 0);
}

static void one_after_the_other_they_wait_each_for_who_is_under_way(void **state) {
        RigAnswer *a = begin_slowly(0);
        uint64_t first = rig_last_job(&g);
        uint64_t second = hold((Wish){.id = 2, .queue = true});
        uint64_t third = hold((Wish){.id = 3, .queue = true});

        assert_int_equal(rig_show_job(&g, first)->n_waiting, 2);
        watch(a, UNITS);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(state_of(second), DONE);
        assert_int_equal(state_of(third), DONE);
        assert_int_equal(n_stored(), 0);
}

// What does not wait may come between.
static void one_that_has_moved_nothing_yet_becomes_a_job_when_somebody_waits_for_it(void **state) {
        start_on_two(UNITS, SERVICE);
        uint64_t before = rig_last_job(&g);
        rig_pool_hold(&g);
        RigAnswer *first = ask((Wish){.id = 1});
        assert_int_equal(rig_last_job(&g), before);
        uint64_t job = hold((Wish){.id = 2, .queue = true});
        assert_int_equal(job, before + 2);
        assert_int_equal(state_of(before + 1), RUNNING);
        assert_waits_for(job, before + 1);
        rig_pool_let_go(&g);
        rig_settle(&g);
        assert_true(first->final);
        assert_int_equal(rig_last(first)->job, before + 1);
        assert_int_equal(rig_show_job(&g, before + 1)->changed, MOVES);
        rig_pass_ms(&g, 2 * LATER_MS);
        assert_int_equal(state_of(before + 1), DONE);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(rig_last_job(&g), before + 2);
}

static void a_job_that_is_released_waits_for_one_that_has_no_job_yet(void **state) {
        start_on_two(UNITS, SERVICE);
        uint64_t job = hold((Wish){.id = 2, .queue = true, .hold = true});
        rig_pool_hold(&g);
        (void) ask((Wish){.id = 1});
        assert_int_equal(rig_last_job(&g), job);
        assert_int_equal(release(job), 0);
        assert_int_equal(rig_last_job(&g), job + 2); // that of the release, and that of the other one
        assert_waits_for(job, job + 2);
        rig_pool_let_go(&g);
        rig_settle(&g);
        rig_pass_ms(&g, 2 * LATER_MS);
        assert_int_equal(rig_show_job(&g, job + 2)->changed, MOVES);
        assert_int_equal(state_of(job), DONE);
}

static void one_that_waits_is_taken_out_and_the_other_goes_on(void **state) {
        RigAnswer *first = begin_slowly(0);
        uint64_t job = hold((Wish){.id = 2, .queue = true});
        RigAnswer *wait = wait_for(job);

        assert_int_equal(cancel(job), 0);
        assert_true(wait->final);
        assert_int_equal(state_of(job), CANCELLED);
        watch(first, UNITS);
        assert_int_equal(rig_last(first)->status, 0);
        assert_int_equal(units_on(3), MOVES);
        assert_int_equal(rig_last(ask((Wish){.id = 2, .queue = true}))->status, ECANCELED); // it is known
}

static void asked_again_it_is_the_same_job(void **state) {
        RigAnswer *first = begin_slowly(0);

        assert_false(ask((Wish){.id = 1, .queue = true})->final); // that is under way itself
        uint64_t job = hold((Wish){.id = 2, .queue = true});
        RigAnswer *again = ask((Wish){.id = 2, .queue = true});
        assert_true(again->final);
        assert_true(rig_last(again)->held);
        assert_int_equal(rig_last(again)->job, job);
        assert_int_equal(rig_last_job(&g), job);
        assert_int_equal(rig_last(ask((Wish){.id = 2, .queue = true, .pattern = "db*"}))->status, EEXIST);
        watch(first, UNITS);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(rig_last(ask((Wish){.id = 2, .queue = true}))->status, 0);
        assert_int_equal(rig_last_job(&g), job);
}

// ---------------------------------------------------------------------------------------------- carried out

// It was held by hand, and goes on for a while.
static uint64_t begin_held(Wish w) {
        start_on_two(UNITS, ONE_DOWN);
        g.start_ms = START_MS;
        w.id = 2;
        w.hold = true;
        uint64_t job = hold(w);
        assert_non_null(strstr(rig_show_job(&g, job)->held_by, "release"));
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(units_on(3), 0);
        assert_int_equal(release(job), 0);
        assert_int_equal(state_of(job), RUNNING);
        assert_int_equal(units_on(3), 1);
        return job;
}

static void released_it_is_carried_out_though_nobody_listens(void **state) {
        uint64_t job = begin_held((Wish){});
        RigAnswer *wait = wait_for(job);

        rig_pass_ms(&g, START_MS / 2);
        assert_false(wait->final);
        rig_pass_ms(&g, LONG_MS);
        assert_true(wait->final);
        assert_int_equal(units_on(3), MOVES);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(rig_show_job(&g, job)->changed, MOVES);
        assert_int_equal(n_stored(), 0);
        assert_int_equal(rig_last_job(&g), job + 1); // that of the release
}

static void the_next_leader_goes_on_with_it(void **state) {
        uint64_t job = begin_held((Wish){});

        next_leader();
        assert_int_equal(state_of(job), RUNNING);
        rig_pass_ms(&g, 2 * START_MS);
        next_leader();
        rig_pass_ms(&g, LONG_MS);
        assert_int_equal(units_on(3), MOVES);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(rig_show_job(&g, job)->changed, MOVES);
        assert_int_equal(rig_last_job(&g), job + 1);
        assert_int_equal(n_stored(), 0);
}

static void what_a_leader_before_has_moved_counts(void **state) {
        uint64_t job = begin_held((Wish){.max_moves = 2, .if_revision = 1000});

        next_leader();
        rig_pass_ms(&g, LONG_MS);
        assert_int_equal(units_on(3), 2);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(rig_show_job(&g, job)->changed, 2);
}

static void one_that_a_leader_before_has_moved_and_that_fails_ends_it(void **state) {
        uint64_t job = begin_held((Wish){.health = true});

        next_leader();
        g.bad = hash_of(ONE_DOWN, strlen(ONE_DOWN));
        rig_pass_ms(&g, LONG_MS);
        assert_int_equal(units_on(3), 1);
        assert_int_equal(state_of(job), FAILED);
        assert_int_equal(n_stored(), 0);
}

static void called_off_it_moves_nothing_more_whoever_leads(void **state) {
        uint64_t job = begin_held((Wish){});

        assert_int_equal(cancel(job), 0);
        next_leader();
        rig_pass_ms(&g, LONG_MS);
        assert_int_equal(units_on(3), 1);
        assert_int_equal(state_of(job), CANCELLED);
        assert_int_equal(n_stored(), 0);
        assert_null(g.leader->rebalance);
}

static void ended_by_who_ends_what_is_under_way_it_is_called_off(void **state) {
        uint64_t job = begin_held((Wish){});

        assert_int_equal(rig_last(ask((Wish){.abort = true}))->status, 0);
        rig_pass_ms(&g, LONG_MS);
        assert_int_equal(units_on(3), 1);
        assert_int_equal(state_of(job), CANCELLED);
        assert_int_equal(n_stored(), 0);
}

static void another_one_is_refused_or_waits_while_it_is_under_way(void **state) {
        uint64_t job = begin_held((Wish){});

        assert_int_equal(rig_last(ask((Wish){.id = 5}))->status, EEXIST);
        uint64_t other = hold((Wish){.id = 6, .queue = true});
        assert_waits_for(other, job);
        next_leader();
        assert_waits_for(other, job);
        rig_pass_ms(&g, LONG_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(state_of(other), DONE);
        assert_int_equal(units_on(3), MOVES);
}

// A new leader has not heard all hosts: it is under way all the same.
static void until_the_next_leader_goes_on_with_it_it_is_under_way(void **state) {
        RigAnswer *abort;
        uint64_t job = begin_held((Wish){});

        rig_depose(&g);
        rig_host_off(&g, 2);
        rig_elect(&g);
        rig_turns(&g, 4);
        assert_null(g.leader->rebalance);
        assert_int_equal(rig_last(ask((Wish){.id = 5}))->status, EEXIST);
        abort = ask((Wish){.abort = true});
        assert_false(abort->final);
        rig_host_on(&g, 2, false);
        assert_final(abort, 0);
        rig_pass_ms(&g, LONG_MS);
        assert_int_equal(units_on(3), 1);
        assert_int_equal(state_of(job), CANCELLED);
}

// The one that was under way is over with its leader; nobody has asked for it again.
static void one_that_waits_begins_under_the_next_leader(void **state) {
        (void) begin_slowly(0);
        uint64_t job = hold((Wish){.id = 2, .queue = true});
        next_leader();
        rig_pass_ms(&g, LONG_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(units_on(3), MOVES);
        assert_int_equal(rig_show_job(&g, job)->changed, MOVES - 1);
}

static void a_released_one_that_may_not_wait_is_refused_beside_another_one(void **state) {
        start_on_two(UNITS, ONE_DOWN);
        g.start_ms = START_MS;
        uint64_t job = hold((Wish){.id = 2, .hold = true});
        (void) ask((Wish){.id = 1});
        assert_int_equal(release(job), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), CANCELLED);
        assert_non_null(strstr(rig_show_job(&g, job)->message, "another rebalance is under way"));
}

static void what_was_to_be_unchanged_is_compared_when_its_time_comes(void **state) {
        start_on_two(UNITS, SERVICE);
        uint64_t job = hold((Wish){.id = 2, .hold = true, .if_revision = cluster_state_revision(g.state)});
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_STOP, "web@1.service", NULL)->status, 0);
        assert_int_equal(release(job), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), CANCELLED);
        assert_non_null(strstr(rig_show_job(&g, job)->message, "nothing is moved"));
        assert_int_equal(units_on(3), 0);
}

// A log that takes its time never lets everything happen.
static void pass_until_an_entry_waits(void) {
        g.slow = true;
        for (unsigned i = 0; i < 100 && g.n_held == 0; i++) {
                g.now_us += 250 * USEC_PER_MSEC;
                for (uint32_t h = 1; h <= 3; h++) {
                        virtual_host_end_due(&rig_host(&g, h)->virtual);
                        virtual_host_beat(&rig_host(&g, h)->virtual, true);
                }
                leader_on_time(g.leader);
                rig_turns(&g, 10);
        }
        g.slow = false;
        assert_int_equal(g.n_held, 1);
}

static void the_log_has_no_room_for_its_end_until_there_is_some(void **state) {
        uint64_t job = begin_held((Wish){.max_moves = 1});

        pass_until_an_entry_waits();
        g.held[0].done(STORE_NO_SPACE, 0, g.held[0].data);
        buf_done(&g.held[0].batch);
        g.n_held = 0;
        rig_settle(&g);
        assert_int_equal(state_of(job), RUNNING);
        assert_int_equal(n_stored(), 1);
        assert_non_null(g.leader->rebalance);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(n_stored(), 0);
        assert_null(g.leader->rebalance);
}

// ------------------------------------------------------------------------------------------------ the queue

static void it_waits_for_other_jobs(void **state) {
        start_on_two(UNITS, SERVICE);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = true;
        rig_change(&g, ARGOSY__VERB__VERB_RESTART, "web@1.service", NULL);
        uint64_t before = rig_last_job(&g);
        uint64_t job = hold((Wish){.id = 2, .after = before});
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
        rig_settle(&g);
        rig_pass_ms(&g, 3 * LATER_MS);
        assert_int_equal(state_of(before), DONE);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(units_on(3), MOVES);
}

static void a_rule_holds_it(void **state) {
        Argosy__QueueRule rule =
                QUEUE_RULE_OF(.action = ARGOSY__QUEUE_ACTION__QUEUE_HOLD, .verb = (char *) "rebalance");

        start_on_two(UNITS, SERVICE);
        add_rule(rule);
        uint64_t job = hold((Wish){.id = 2});
        assert_int_equal(units_on(3), 0);
        // who only asks is answered
        assert_int_equal(rig_last(ask((Wish){.preview = true}))->rebalance->n_moves, MOVES);
        assert_int_equal(release(job), 0);
        assert_int_equal(units_on(3), MOVES);
}

static void it_counts_once_for_its_limit(void **state) {
        Argosy__QueueRule rule = QUEUE_RULE_OF(.action = ARGOSY__QUEUE_ACTION__QUEUE_LIMIT, .limit = 2);

        start_on_two(UNITS, ONE_DOWN);
        g.start_ms = START_MS;
        add_rule(rule);
        RigAnswer *a = ask((Wish){.id = 1, .max_moves = 1});
        assert_int_equal(held_limit_running(g.leader, 1), 1);
        uint64_t job = hold((Wish){.id = 2, .queue = true});
        watch(a, UNITS);
        for (unsigned i = 0; i < 20 && state_of(job) == HELD; i++)
                rig_pass_ms(&g, 250);
        assert_int_equal(state_of(job), RUNNING);
        assert_int_equal(held_limit_running(g.leader, 1), 1);
        rig_change(&g, START, "db-1.service", SERVICE);
        assert_non_null(rig_record(&g, "db-1.service")); // the second of two
        next_leader();
        assert_int_equal(held_limit_running(g.leader, 1), 2);
        rig_pass_ms(&g, LONG_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(held_limit_running(g.leader, 1), 0);
}

// It waits for a host that a new leader has not heard, and what comes meanwhile is as much as a turn does.
static void one_that_waits_for_a_host_holds_up_nobody(void **state) {
        start_on_two(UNITS, SERVICE);
        uint64_t job = hold((Wish){.id = 1, .hold = true});
        rig_host(&g, 3)->delayed = true;
        rig_depose(&g);
        rig_elect(&g);
        g.leader->limits.requests_units = UNITS;
        assert_int_equal(release(job), 0);
        assert_int_equal(rig_last(rig_change_many(&g, START, "other", UNITS, SERVICE))->status, 0);
        assert_non_null(rig_record(&g, "other@0.service"));
        rig_host(&g, 3)->delayed = false;
        rig_pass_ms(&g, 20 * LATER_MS);
        assert_int_equal(state_of(job), DONE);
}

RUN_TESTS(
        RIG_TEST(one_that_comes_while_another_one_is_under_way_is_a_job_that_waits_for_it),
        RIG_TEST(whoever_does_not_wait_is_told_the_same),
        RIG_TEST(one_after_the_other_they_wait_each_for_who_is_under_way),
        RIG_TEST(one_that_has_moved_nothing_yet_becomes_a_job_when_somebody_waits_for_it),
        RIG_TEST(a_job_that_is_released_waits_for_one_that_has_no_job_yet),
        RIG_TEST(one_that_waits_is_taken_out_and_the_other_goes_on),
        RIG_TEST(asked_again_it_is_the_same_job),
        RIG_TEST(released_it_is_carried_out_though_nobody_listens),
        RIG_TEST(the_next_leader_goes_on_with_it),
        RIG_TEST(what_a_leader_before_has_moved_counts),
        RIG_TEST(one_that_a_leader_before_has_moved_and_that_fails_ends_it),
        RIG_TEST(called_off_it_moves_nothing_more_whoever_leads),
        RIG_TEST(ended_by_who_ends_what_is_under_way_it_is_called_off),
        RIG_TEST(another_one_is_refused_or_waits_while_it_is_under_way),
        RIG_TEST(until_the_next_leader_goes_on_with_it_it_is_under_way),
        RIG_TEST(one_that_waits_begins_under_the_next_leader),
        RIG_TEST(a_released_one_that_may_not_wait_is_refused_beside_another_one),
        RIG_TEST(what_was_to_be_unchanged_is_compared_when_its_time_comes),
        RIG_TEST(the_log_has_no_room_for_its_end_until_there_is_some),
        RIG_TEST(it_waits_for_other_jobs),
        RIG_TEST(a_rule_holds_it),
        RIG_TEST(it_counts_once_for_its_limit),
        RIG_TEST(one_that_waits_for_a_host_holds_up_nobody)
)
