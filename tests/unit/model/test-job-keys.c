// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The keys by which requests are known again, and how long.
#include "jobs-words.h"
#include "messages.h"

static void a_key_belongs_to_the_first_who_used_it(void **state) {
        RequestKey key;
        uint8_t id[16];

        begin(g.s, 1);
        make_id(id, 8);
        assert_false(cluster_state_find_key(g.s, id, &key));
        batch_job(&g.b, (JobPut){.id = id, .content = 11});
        batch_job(&g.b, (JobPut){.id = id, .content = 12});
        apply(g.s, &g.b);
        assert_true(cluster_state_find_key(g.s, id, &key));
        assert_int_equal(key.job, 1);
        assert_int_equal(key.content, 11);
        assert_false(key.more);
        batch_job(&g.b, (JobPut){.id = id, .content = 13, .more = true}); // nor does who goes on with it
        apply(g.s, &g.b);
        assert_true(cluster_state_find_key(g.s, id, &key));
        assert_int_equal(key.job, 1);
        assert_int_equal(key.content, 11);
        assert_false(key.more);
}

static void add_keys(Batch *b, uint64_t first, size_t n) {
        uint8_t id[16];

        for (size_t i = 0; i < n; i++) {
                make_id(id, first + i);
                batch_job(b, (JobPut){.id = id, .content = first + i, .verb = ""});
        }
}

static void put_keys(ClusterState *s, uint64_t first, size_t n, uint64_t at_us) {
        Batch b = {};

        add_keys(&b, first, n);
        batch_set_time(&b, s, at_us);
        apply(s, &b);
}

// So long after the entry before, whatever the time is.
static void put_keys_after(ClusterState *s, uint64_t first, size_t n, uint64_t passed_us) {
        Batch b = {};

        add_keys(&b, first, n);
        b.log.at_us = 1;
        b.log.counted_us = passed_us;
        apply(s, &b);
}

// A leader whose clock is wrong.
static void put_wrong_time(ClusterState *s, uint64_t at_us) {
        Batch b = {};

        b.log = (Argosy__LogBatch) MESSAGE_OF(log_batch, .at_us = at_us, .counted_us = 1);
        apply(s, &b);
}

static bool knows(ClusterState *s, uint64_t number) {
        RequestKey key;
        uint8_t id[16];

        make_id(id, number);
        return cluster_state_find_key(s, id, &key) && key.content == number;
}

// Where the small index of a segment is full, the large one has all of them.
static void a_key_is_found_among_few_and_among_many(void **state) {
        enum { FULL = 2048, NEAR = 3 };
        uint64_t n = FULL - NEAR;

        begin(g.s, 1);
        put_keys(g.s, 0, n, 2);
        for (; n < FULL + NEAR; n++) {
                assert_false(knows(g.s, n));
                put_keys(g.s, n, 1, 2);
                for (uint64_t i = 0; i <= n; i++)
                        assert_true(knows(g.s, i));
        }
        put_keys(g.s, 0, FULL, 3); // all of them are known
        assert_false(knows(g.s, n));
        pass_through_image(g.s);
        for (uint64_t i = 0; i < n; i++)
                assert_true(knows(g.s, i));
}

// What is forgotten may have been carried out: who repeats it after so long is told that nobody knows. That
// goes by counted time: a clock that is years ahead meanwhile is no reason to say so of every request, nor
// of none.
static void a_million_keys_are_remembered_and_the_oldest_go(void **state) {
        enum { CHUNK = 4096 };
        _cleanup_(cluster_state_freep) ClusterState *twin = cluster_state_new();
        uint64_t n = 0, sec = 1000000, ahead_us = UINT64_C(4000000000) * sec;

        begin(g.s, sec);
        begin(twin, sec);
        while (knows(g.s, 0) || n == 0) {
                put_keys_after(g.s, n, CHUNK, sec);
                put_keys_after(twin, n, CHUNK, sec);
                if (n / CHUNK == 5) {
                        put_wrong_time(g.s, ahead_us);
                        put_wrong_time(twin, ahead_us);
                }
                if (n / CHUNK % 100 == 3)
                        pass_through_image(twin);
                n += CHUNK;
                if (knows(g.s, 0))
                        assert_false(cluster_state_may_have_forgotten(g.s, 1000000000));
        }
        assert_true(n > CLUSTER_KEYS_MIN);
        assert_true(knows(g.s, n - 1));
        assert_true(knows(g.s, n - CLUSTER_KEYS_MIN));
        assert_same_image(g.s, twin);
        // 16 entries of a second each have been forgotten.
        assert_false(cluster_state_may_have_forgotten(g.s, 1000));
        assert_false(cluster_state_may_have_forgotten(g.s, (n / CHUNK - 17) * 1000));
        assert_true(cluster_state_may_have_forgotten(g.s, (n / CHUNK - 16) * 1000));
        assert_true(cluster_state_may_have_forgotten(g.s, UINT64_MAX));
}

static RequestKey key_of(ClusterState *s, uint64_t number) {
        RequestKey key = {};
        uint8_t id[16];

        make_id(id, number);
        assert_true(cluster_state_find_key(s, id, &key));
        return key;
}

static void begin_in_parts(ClusterState *s, uint64_t number) {
        uint8_t id[16];
        Batch b = {};

        make_id(id, number);
        batch_job(&b, (JobPut){.id = id, .content = number, .more = true})->state =
                ARGOSY__JOB_STATE__JOB_RUNNING;
        apply(s, &b);
}

static void end_job(ClusterState *s, uint64_t number) {
        Argosy__JobRecord end = JOB_RECORD_OF(.number = number, .state = ARGOSY__JOB_STATE__JOB_FAILED),
                          *pointer = &end;
        Batch b = {};
        Argosy__LogOp__JobEnds ends = MESSAGE_OF(log_op__job_ends, .ends = &pointer, .n_ends = 1);

        batch_op(&b, ARGOSY__LOG_OP__OP_JOB_ENDS)->job_ends = &ends;
        apply(s, &b);
}

// It was begun, and nobody can go on with it. One whose job has ended goes before those that are under way.
static void of_what_is_begun_one_is_given_up_and_stays_known(void **state) {
        enum { ENDED = 5 };
        uint64_t n = 0;
        uint8_t id[16];

        begin(g.s, 1);
        for (; cluster_state_takes_open_keys(g.s, 1); n++)
                begin_in_parts(g.s, n);
        assert_true(n >= 1000);
        end_job(g.s, key_of(g.s, ENDED).job);
        assert_true(cluster_state_takes_open_keys(g.s, 1));
        assert_false(cluster_state_takes_open_keys(g.s, 2));
        begin_in_parts(g.s, n);
        assert_true(key_of(g.s, ENDED).given_up);
        assert_false(key_of(g.s, ENDED).more);
        assert_int_equal(key_of(g.s, ENDED).content, ENDED);
        for (uint64_t i = 0; i <= n; i++)
                assert_true(i == ENDED || key_of(g.s, i).more);

        begin_in_parts(g.s, n + 1); // more than a leader takes: the oldest goes
        assert_true(key_of(g.s, 0).given_up);
        make_id(id, 0); // an entry that was on its way
        batch_job(&g.b, (JobPut){.id = id, .content = 0, .number = key_of(g.s, 0).job});
        apply(g.s, &g.b);
        assert_false(key_of(g.s, 0).given_up || key_of(g.s, 0).more);
        pass_through_image(g.s);
        assert_false(key_of(g.s, 0).given_up || key_of(g.s, 0).more);
        assert_true(key_of(g.s, ENDED).given_up);
        assert_true(key_of(g.s, 1).more);
}

// Somebody reads it in the pool while jobs come and go.
static void a_snapshot_knows_nothing_of_what_comes_later(void **state) {
        _cleanup_buf_ Buf before = {}, then = {};
        ClusterSnapshot *snapshot;
        uint8_t id[16];
        int r;

        begin(g.s, 1);
        put_keys(g.s, 0, 5000, 2);
        make_id(id, 99999);
        batch_job(&g.b, (JobPut){.id = id, .more = true});
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_encode(g.s, &before), 0);
        assert_int_equal(cluster_state_snapshot(g.s, &snapshot), 0);

        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED});
        // another part of the last one
        batch_job(&g.b, (JobPut){.id = id, .n_ops = 2, .number = cluster_state_last_job(g.s)});
        apply(g.s, &g.b);
        for (uint64_t i = 0; i < 30; i++)
                put_keys(g.s, 100000 + i * 5000, 5000, 3);
        assert_true(cluster_state_first_job(g.s) > 5001);
        ClusterEncoder *encoder = cluster_encoder_new(snapshot);
        assert_non_null(encoder);
        do {
                r = cluster_encoder_next(encoder, &then);
        } while (r == CLUSTER_ENCODER_MORE);
        assert_int_equal(r, 0);
        cluster_encoder_free(encoder);
        cluster_snapshot_unref(snapshot);
        assert_int_equal(before.len, then.len);
        assert_memory_equal(before.data, then.data, before.len);
}

RUN_TESTS(TEST(a_key_belongs_to_the_first_who_used_it), TEST(a_key_is_found_among_few_and_among_many),
          TEST(a_million_keys_are_remembered_and_the_oldest_go),
          TEST(of_what_is_begun_one_is_given_up_and_stays_known),
          TEST(a_snapshot_knows_nothing_of_what_comes_later))
