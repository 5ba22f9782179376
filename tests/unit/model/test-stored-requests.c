// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs that are held back, in the log: kept whole until they begin or end, within bounds, the same on every
// voter.
#include "jobs-words.h"

#define HELD ARGOSY__JOB_STATE__JOB_HELD
#define RUNNING ARGOSY__JOB_STATE__JOB_RUNNING
#define DONE ARGOSY__JOB_STATE__JOB_DONE
#define CANCELLED ARGOSY__JOB_STATE__JOB_CANCELLED

static const uint64_t day_us = UINT64_C(86400) * 1000000;

typedef struct Hold {
        size_t bytes;
        uint64_t after; // 0: nothing
        bool by_hand, without_request;
} Hold;

static Argosy__LogOp__JobPut *add_job(Batch *b, Argosy__JobState state) {
        (void) batch_job(b, (JobPut){.verb = "start"});
        b->log.ops[b->log.n_ops - 1]->job->job->state = state;
        return b->log.ops[b->log.n_ops - 1]->job;
}

static uint64_t hold(ClusterState *s, Hold w) {
        Argosy__Author author = AUTHOR_OF(.user = (char *) "ann");
        Batch b = {};

        argosy__log_batch__init(&b.log);
        Argosy__LogOp__JobPut *put = add_job(&b, HELD);
        Argosy__StoredRequest stored =
                MESSAGE_OF(stored_request, .author = &author,
                           .request = (ProtobufCBinaryData){w.bytes, calloc(1, w.bytes + 1)},
                           .by_hand = w.by_hand, .after = &w.after, .n_after = w.after > 0);
        if (!w.without_request)
                put->stored = &stored;
        batch_set_time(&b, s, day_us + 5);
        apply(s, &b);
        cluster_state_drop_dirty(s);
        free(stored.request.data);
        return cluster_state_last_job(s);
}

static void put_jobs_in(ClusterState *s, size_t n, uint64_t at_us, Argosy__JobState state) {
        Batch b = {};

        argosy__log_batch__init(&b.log);
        for (size_t i = 0; i < n; i++)
                (void) add_job(&b, state);
        batch_set_time(&b, s, at_us);
        apply(s, &b);
        cluster_state_drop_dirty(s);
}

// The job goes on, by an entry that starts a unit.
static void go_on(ClusterState *s, uint64_t number, const char *unit, Argosy__JobState state, bool more) {
        Batch b = {};

        batch_unit(&b, unit, WEB, (UnitPut){.target = LAUNCHED, .start = true});
        Argosy__LogOp__JobPut *put = add_job(&b, state);
        put->number = number;
        put->n_ops = (uint32_t) b.log.n_ops - 1;
        put->more = more;
        batch_set_time(&b, s, day_us + 9);
        apply(s, &b);
        cluster_state_drop_dirty(s);
}

static void end(ClusterState *s, uint64_t number, Argosy__JobState state) {
        Argosy__JobRecord record = JOB_RECORD_OF(.number = number, .state = state), *records = &record;
        Batch b = {};
        Argosy__LogOp__JobEnds ends = MESSAGE_OF(log_op__job_ends, .ends = &records, .n_ends = 1);

        batch_op(&b, ARGOSY__LOG_OP__OP_JOB_ENDS)->job_ends = &ends;
        apply(s, &b);
        cluster_state_drop_dirty(s);
}

static void release(ClusterState *s, uint64_t number, bool past_rules) {
        Argosy__LogOp__StoredRelease m =
                MESSAGE_OF(log_op__stored_release, .job = number, .past_rules = past_rules);
        Batch b = {};

        batch_op(&b, ARGOSY__LOG_OP__OP_STORED_RELEASE)->stored_release = &m;
        apply(s, &b);
        cluster_state_drop_dirty(s);
}

static const Argosy__StoredRequest *stored(ClusterState *s, uint64_t number) {
        return cluster_state_find_stored_request(s, number);
}

static size_t count(ClusterState *s) {
        size_t n;

        (void) cluster_state_stored_requests(s, &n);
        return n;
}

static Argosy__JobState state_of(ClusterState *s, uint64_t number) {
        return cluster_state_job_state(s, number);
}

// ------------------------------------------------------------------------------------------------ kept

static void a_held_job_is_kept_whole(void **state) {
        Argosy__JobRecord *record;

        begin_clean(g.s, day_us);
        uint64_t job = hold(g.s, (Hold){.bytes = 1000, .by_hand = true});
        pass_through_image(g.s);
        assert_int_equal(state_of(g.s, job), HELD);
        assert_non_null(stored(g.s, job));
        assert_int_equal(stored(g.s, job)->request.len, 1000);
        assert_string_equal(stored(g.s, job)->author->user, "ann");
        assert_true(stored(g.s, job)->by_hand);
        assert_int_equal(cluster_state_read_job(g.s, job, &record), 0);
        assert_int_equal(record->asked_us, day_us + 5);
        assert_int_equal(record->ended_us, 0);
        message_free(record);
}

static void its_request_goes_with_its_effect(void **state) {
        Argosy__JobRecord *record;

        begin_clean(g.s, day_us);
        uint64_t job = hold(g.s, (Hold){.bytes = 10});
        go_on(g.s, job, "a.service", RUNNING, false);
        assert_null(stored(g.s, job));
        assert_int_equal(state_of(g.s, job), RUNNING);
        assert_int_equal(cluster_state_last_job(g.s), job); // the same one
        assert_int_equal(cluster_state_read_job(g.s, job, &record), 0);
        assert_int_equal(record->at_us, day_us + 9);
        assert_int_equal(record->asked_us, day_us + 5);
        assert_int_equal(record->n_units, 1);
        message_free(record);
        pass_through_image(g.s);
}

static void of_several_entries_it_goes_with_the_last(void **state) {
        begin_clean(g.s, day_us);
        uint64_t job = hold(g.s, (Hold){.bytes = 10});
        go_on(g.s, job, "a.service", RUNNING, true);
        assert_non_null(stored(g.s, job));
        pass_through_image(g.s);
        assert_non_null(stored(g.s, job));
        go_on(g.s, job, "b.service", RUNNING, false);
        assert_null(stored(g.s, job));
}

static void its_request_goes_with_its_end(void **state) {
        begin_clean(g.s, day_us);
        uint64_t job = hold(g.s, (Hold){.bytes = 10});
        end(g.s, job, CANCELLED);
        end(g.s, job, DONE); // it has ended
        assert_null(stored(g.s, job));
        assert_int_equal(state_of(g.s, job), CANCELLED);
        pass_through_image(g.s);
        assert_int_equal(state_of(g.s, job), CANCELLED);
}

static void released_it_waits_for_nothing_but_the_rules(void **state) {
        begin_clean(g.s, day_us);
        uint64_t first = hold(g.s, (Hold){.bytes = 10});
        uint64_t job = hold(g.s, (Hold){.bytes = 10, .by_hand = true, .after = first});
        release(g.s, job, false);
        assert_false(stored(g.s, job)->by_hand);
        assert_int_equal(stored(g.s, job)->n_after, 0);
        assert_false(stored(g.s, job)->past_rules);
        release(g.s, job, true);
        release(g.s, job, false); // what was given stays
        assert_true(stored(g.s, job)->past_rules);
        release(g.s, 99, true); // there is none
        pass_through_image(g.s);
        assert_true(stored(g.s, job)->past_rules);
}

// ------------------------------------------------------------------------------------------------ bounds

static void what_there_is_no_room_for_is_cancelled_as_it_comes(void **state) {
        size_t n = 0;

        begin_clean(g.s, day_us);
        uint64_t job = hold(g.s, (Hold){.bytes = CLUSTER_STORED_REQUEST_MAX + 1});
        assert_int_equal(state_of(g.s, job), CANCELLED);
        job = hold(g.s, (Hold){.bytes = 10, .without_request = true});
        assert_int_equal(state_of(g.s, job), CANCELLED);
        while (state_of(g.s, job = hold(g.s, (Hold){.bytes = CLUSTER_STORED_REQUEST_MAX})) == HELD)
                n++;
        assert_int_equal(n, CLUSTER_STORED_BYTES_MAX / CLUSTER_STORED_REQUEST_MAX);
        assert_int_equal(state_of(g.s, job), CANCELLED);
        assert_int_equal(count(g.s), n);
        assert_false(cluster_state_stores_request(g.s, 0, 0, 1));
        end(g.s, job - 1, CANCELLED);
        assert_true(cluster_state_stores_request(g.s, 0, 0, 1));
        assert_false(cluster_state_stores_request(g.s, 0, CLUSTER_STORED_REQUEST_MAX, 1));
}

static void a_job_waits_only_for_those_before_it(void **state) {
        begin_clean(g.s, day_us);
        assert_int_equal(state_of(g.s, hold(g.s, (Hold){.bytes = 1, .after = 1})), CANCELLED); // for itself
        assert_int_equal(state_of(g.s, hold(g.s, (Hold){.bytes = 1, .after = 9})), CANCELLED);
        assert_int_equal(state_of(g.s, hold(g.s, (Hold){.bytes = 1, .after = 2})), HELD);
}

// ------------------------------------------------------------------------------ what others are dropped for

static void neither_it_nor_what_it_waits_for_is_dropped(void **state) {
        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 1, day_us, DONE);
        uint64_t done = cluster_state_last_job(g.s);
        uint64_t job = hold(g.s, (Hold){.bytes = 10, .after = done});
        put_jobs_in(g.s, 3, day_us * 60, DONE); // all before are too old
        assert_int_equal(cluster_state_first_job(g.s), job + 1);
        assert_int_equal(state_of(g.s, job), HELD);
        assert_int_equal(state_of(g.s, done), DONE);
        pass_through_image(g.s);
        assert_int_equal(state_of(g.s, done), DONE);
        go_on(g.s, job, "a.service", RUNNING, false);
        assert_int_equal(state_of(g.s, job), RUNNING);
        assert_int_equal(state_of(g.s, done),
                         ARGOSY__JOB_STATE__JOB_UNKNOWN); // nobody waits for it any more
        end(g.s, job, DONE);
        assert_int_equal(state_of(g.s, job), ARGOSY__JOB_STATE__JOB_UNKNOWN);
        pass_through_image(g.s);
}

static void one_that_ends_beside_the_others_stays_as_long_as_it_is_waited_for(void **state) {
        begin_clean(g.s, day_us);
        put_jobs_in(g.s, 1, day_us, RUNNING);
        uint64_t slow = cluster_state_last_job(g.s);
        uint64_t job = hold(g.s, (Hold){.bytes = 10, .after = slow});
        put_jobs_in(g.s, 3, day_us * 60, DONE);
        end(g.s, slow, DONE);
        assert_int_equal(state_of(g.s, slow), DONE);
        pass_through_image(g.s);
        assert_int_equal(state_of(g.s, slow), DONE);
        release(g.s, job, false);
        assert_int_equal(state_of(g.s, slow), ARGOSY__JOB_STATE__JOB_UNKNOWN);
}

// --------------------------------------------------------------------------------------------- whose it was

static void what_a_late_job_has_changed_is_its_own(void **state) {
        uint64_t job, other, revision;

        begin_clean(g.s, day_us);
        job = hold(g.s, (Hold){.bytes = 10});
        go_on(g.s, 0, "a.service", RUNNING, false);
        other = cluster_state_last_job(g.s);
        revision = unit(g.s, "a.service")->revision;
        for (unsigned i = 0; i < 600; i++) // more than are looked through
                put_jobs_in(g.s, 1, day_us, DONE);
        go_on(g.s, job, "a.service", RUNNING, true);
        go_on(g.s, 0, "b.service", RUNNING, false);
        go_on(g.s, job, "c.service", RUNNING, false);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(cluster_state_find_job_of(g.s, "a.service", revision), other);
                assert_int_equal(
                        cluster_state_find_job_of(g.s, "a.service", unit(g.s, "a.service")->revision), job);
                assert_int_equal(
                        cluster_state_find_job_of(g.s, "b.service", unit(g.s, "b.service")->revision),
                        cluster_state_last_job(g.s));
                assert_int_equal(
                        cluster_state_find_job_of(g.s, "c.service", unit(g.s, "c.service")->revision), job);
                pass_through_image(g.s);
        }
}

// ------------------------------------------------------------------------------------------------ the rest

static void news_of_it_is_told(void **state) {
        begin_clean(g.s, day_us);
        uint64_t job = hold(g.s, (Hold){.bytes = 10});
        Argosy__LogOp__StoredRelease m = MESSAGE_OF(log_op__stored_release, .job = job);
        batch_op(&g.b, ARGOSY__LOG_OP__OP_STORED_RELEASE)->stored_release = &m;
        apply(g.s, &g.b);
        const JobNews *news = cluster_state_next_job(g.s);
        assert_non_null(news);
        assert_int_equal(news->number, job);
        assert_true(news->only_state);
        assert_null(cluster_state_next_job(g.s));
}

static void a_snapshot_shows_what_was_held_then(void **state) {
        _cleanup_buf_ Buf before = {}, shown = {};
        ClusterSnapshot *snapshot;

        begin_clean(g.s, day_us);
        uint64_t job = hold(g.s, (Hold){.bytes = 5000, .by_hand = true});
        assert_int_equal(cluster_state_encode(g.s, &before), 0);
        assert_int_equal(cluster_state_snapshot(g.s, &snapshot), 0);
        release(g.s, job, true);
        end(g.s, job, CANCELLED);
        ClusterEncoder *e = cluster_encoder_new(snapshot);
        assert_non_null(e);
        while (cluster_encoder_next(e, &shown) == CLUSTER_ENCODER_MORE)
                ;
        cluster_encoder_free(e);
        cluster_snapshot_unref(snapshot);
        assert_int_equal(shown.len, before.len);
        assert_memory_equal(shown.data, before.data, before.len);
}

static void the_rules_are_put_whole(void **state) {
        Argosy__QueueRule rule = ARGOSY__QUEUE_RULE__INIT, *rules[CLUSTER_QUEUE_RULES_MAX + 1];

        begin_clean(g.s, day_us);
        assert_int_equal(cluster_state_queue(g.s)->n_rules, 0);
        for (size_t i = 0; i < ELEMENTSOF(rules); i++)
                rules[i] = &rule;
        rule.number = 7;
        rule.author = (char *) "ann";
        Argosy__QueueRecord queue = MESSAGE_OF(queue_record, .rules = rules, .n_rules = 2, .closed = true,
                                               .reason = (char *) "racks");
        batch_op(&g.b, ARGOSY__LOG_OP__OP_QUEUE)->queue = &queue;
        apply(g.s, &g.b);
        uint64_t before = cluster_state_queue_revision(g.s);
        assert_int_equal(before, cluster_state_revision(g.s));
        queue.n_rules = ELEMENTSOF(rules); // too many
        batch_op(&g.b, ARGOSY__LOG_OP__OP_QUEUE)->queue = &queue;
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_queue_revision(g.s), before);
        pass_through_image(g.s);
        assert_int_equal(cluster_state_queue(g.s)->n_rules, 2);
        assert_true(cluster_state_queue(g.s)->closed);
        assert_string_equal(cluster_state_queue(g.s)->rules[1]->author, "ann");
        assert_string_equal(cluster_state_queue(g.s)->reason, "racks");
}

RUN_TESTS(
        TEST(a_held_job_is_kept_whole),
        TEST(its_request_goes_with_its_effect),
        TEST(of_several_entries_it_goes_with_the_last),
        TEST(its_request_goes_with_its_end),
        TEST(released_it_waits_for_nothing_but_the_rules),
        TEST(what_there_is_no_room_for_is_cancelled_as_it_comes),
        TEST(a_job_waits_only_for_those_before_it),
        TEST(neither_it_nor_what_it_waits_for_is_dropped),
        TEST(one_that_ends_beside_the_others_stays_as_long_as_it_is_waited_for),
        TEST(what_a_late_job_has_changed_is_its_own),
        TEST(news_of_it_is_told),
        TEST(a_snapshot_shows_what_was_held_then),
        TEST(the_rules_are_put_whole)
)
