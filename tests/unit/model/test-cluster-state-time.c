// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The two times of the log: what a wrong clock does not do, what counted time does, and what setting the
// time brings back.

#include "access-token.h"
#include "clock.h"
#include "cluster-words.h"
#include "feature-level.h"
#include "message.h"
#include "messages.h"

#define DAY (UINT64_C(86400) * USEC_PER_SEC)
#define START (UINT64_C(20000) * DAY)
#define RUNNING ARGOSY__JOB_STATE__JOB_RUNNING
#define DONE ARGOSY__JOB_STATE__JOB_DONE

// What the leader of the next entry says: what time it is, and how much has passed since the one before.
static uint64_t now_us, passed_us;

static int begin(void **state) {
        Batch b = {};

        if (make_state(state) < 0)
                return -1;
        batch_cluster(&b, 1);
        b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
        b.log.at_us = now_us = START;
        passed_us = 0;
        apply(*state, &b);
        return 0;
}

#define TIME(f) cmocka_unit_test_setup_teardown(f, begin, free_state)

static void commit(ClusterState *s, Batch *b) {
        if (!b->log.base.descriptor)
                argosy__log_batch__init(&b->log);
        b->log.at_us = now_us;
        b->log.counted_us = passed_us;
        apply(s, b);
        passed_us = 0;
}

static void pass(uint64_t us) {
        now_us += us;
        passed_us += us;
}

static void nothing(ClusterState *s) {
        Batch b = {};

        commit(s, &b);
}

static uint64_t put_job(ClusterState *s, Argosy__JobState state) {
        Batch b = {};

        batch_job(&b, (JobPut){.verb = "start"})->state = state;
        commit(s, &b);
        return cluster_state_last_job(s);
}

static void go_on(ClusterState *s, uint64_t number) {
        Batch b = {};

        batch_job(&b, (JobPut){.number = number})->state = RUNNING;
        commit(s, &b);
}

static void end_job(ClusterState *s, uint64_t number) {
        Batch b = {};
        Argosy__JobRecord end = JOB_RECORD_OF(.number = number, .state = DONE, .ended_us = now_us),
                          *all[] = {&end};
        Argosy__LogOp__JobEnds ends = MESSAGE_OF(log_op__job_ends, .ends = all, .n_ends = 1);

        batch_op(&b, ARGOSY__LOG_OP__OP_JOB_ENDS)->job_ends = &ends;
        commit(s, &b);
}

static void make_access_token(ClusterState *s, const char *id, uint64_t ttl_us) {
        uint8_t hash[HASH_SIZE] = {(uint8_t) id[7]};
        Batch b = {};

        Argosy__AccessTokenRecord token =
                ACCESS_TOKEN_RECORD_OF(.id = (char *) id, .name = (char *) id,
                                       .hash = (ProtobufCBinaryData){sizeof(hash), hash},
                                       .right = ARGOSY__RIGHT__RIGHT_VIEW, .created_us = now_us,
                                       .expires_us = now_us + ttl_us);
        batch_op(&b, ARGOSY__LOG_OP__OP_ACCESS_TOKEN)->access_token = &token;
        commit(s, &b);
}

static void make_join_token(ClusterState *s, const char *id, uint64_t ttl_us) {
        Argosy__TokenRecord token =
                TOKEN_RECORD_OF(.id = (char *) id, .ttl_us = ttl_us, .expires_us = now_us + ttl_us);
        Batch b = {};

        batch_op(&b, ARGOSY__LOG_OP__OP_TOKEN)->token = &token;
        commit(s, &b);
}

static void set_time(ClusterState *s, uint64_t to_us) {
        Argosy__LogOp__TimeSet set = MESSAGE_OF(log_op__time_set, .to_us = to_us);
        Batch b = {};

        batch_op(&b, ARGOSY__LOG_OP__OP_TIME_SET)->time_set = &set;
        commit(s, &b);
        now_us = to_us;
}

static const Argosy__AccessTokenRecord *access_token(const ClusterState *s, const char *id) {
        return access_token_find(cluster_state_access(s), id);
}

static AccessTokenState state_of(const ClusterState *s, const char *id) {
        AccessTime now = {.wall_us = now_us, .counted_us = cluster_state_counted_us(s) + passed_us};

        return access_token_state(access_token(s, id), now);
}

static bool join_is_over(const ClusterState *s, const char *id) {
        AccessTime now = {.wall_us = now_us, .counted_us = cluster_state_counted_us(s) + passed_us};

        return token_record_is_over(cluster_state_find_token(s, id), now);
}

static Argosy__JobRecord read_job(const ClusterState *s, uint64_t number) {
        Argosy__JobRecord *record, copy = ARGOSY__JOB_RECORD__INIT;

        assert_int_equal(cluster_state_read_job(s, number, &record), 0);
        copy.at_us = record->at_us;
        copy.ended_us = record->ended_us;
        message_free(record);
        return copy;
}

// --------------------------------------------------------------------------------- what a clock does not do

// One entry by a clock that is 400 days ahead: what it says of the time is there for good, and nothing else.
static void a_clock_that_is_ahead_deletes_nothing(void **state) {
        uint64_t first = put_job(g.s, DONE);

        make_access_token(g.s, "00000001", 20 * DAY);
        make_join_token(g.s, "join", DAY);
        now_us += 400 * DAY;
        passed_us = USEC_PER_SEC;
        make_join_token(g.s, "another", DAY); // drops those that are over
        now_us -= 400 * DAY;
        nothing(g.s);
        assert_int_equal(cluster_state_time_us(g.s), START + 400 * DAY); // it does not go back
        assert_int_equal(cluster_state_counted_us(g.s),
                         USEC_PER_SEC + 5); // and a microsecond for each entry
        assert_int_equal(cluster_state_first_job(g.s), first);
        assert_int_equal(state_of(g.s, "00000001"), ACCESS_TOKEN_ACTIVE);
        assert_false(join_is_over(g.s, "join"));
        pass_through_image(g.s);
        assert_int_equal(cluster_state_first_job(g.s), first);
        assert_int_equal(state_of(g.s, "00000001"), ACCESS_TOKEN_ACTIVE);
}

// As the others say that it passes.
static void behind_a_clock_that_was_ahead_the_logs_time_goes_on(void **state) {
        now_us += 400 * DAY;
        nothing(g.s);
        now_us -= 400 * DAY;
        nothing(g.s);
        assert_int_equal(cluster_state_time_us(g.s), START + 400 * DAY);
        pass(DAY);
        nothing(g.s);
        assert_int_equal(cluster_state_time_us(g.s), START + 401 * DAY);

        pass_through_image(g.s); // a voter that has not read the entries goes on likewise
        pass(DAY);
        nothing(g.s);
        assert_int_equal(cluster_state_time_us(g.s), START + 402 * DAY);
}

// The cluster was off: what has expired is refused, and all of it is there.
static void a_month_without_power_deletes_nothing(void **state) {
        uint64_t first = put_job(g.s, DONE);

        make_access_token(g.s, "00000001", DAY);
        make_join_token(g.s, "join", DAY);
        now_us += 70 * DAY;
        make_join_token(g.s, "another", DAY);
        assert_int_equal(cluster_state_first_job(g.s), first);
        assert_int_equal(state_of(g.s, "00000001"), ACCESS_TOKEN_EXPIRED);
        assert_true(join_is_over(g.s, "join"));
        assert_non_null(access_token(g.s, "00000001"));
}

// The clocks stand still, or went back, and time passes.
static void what_leaders_have_counted_deletes(void **state) {
        uint64_t first = put_job(g.s, DONE);

        make_access_token(g.s, "00000001", DAY);
        make_join_token(g.s, "join", DAY);
        passed_us = DAY - 10;
        assert_int_equal(state_of(g.s, "00000001"), ACCESS_TOKEN_ACTIVE);
        assert_false(join_is_over(g.s, "join"));
        passed_us = DAY + 1;
        assert_int_equal(state_of(g.s, "00000001"), ACCESS_TOKEN_EXPIRED);
        assert_true(join_is_over(g.s, "join"));
        make_join_token(g.s, "another", DAY);
        assert_null(cluster_state_find_token(g.s, "join"));
        passed_us = CLUSTER_JOB_DAYS_MAX * DAY;
        put_job(g.s, DONE);
        assert_int_equal(cluster_state_first_job(g.s), first + 1);
        assert_null(access_token(g.s, "00000001"));
}

// ------------------------------------------------------------------------------------------------ set

static void setting_the_time_brings_back_what_lies_ahead(void **state) {
        uint64_t before = put_job(g.s, DONE);

        make_access_token(g.s, "00000001", 20 * DAY);
        pass(DAY);
        now_us += 40 * DAY;
        uint64_t ahead = put_job(g.s, DONE);
        uint64_t open = put_job(g.s, RUNNING);
        make_access_token(g.s, "00000002", 5 * DAY);
        make_join_token(g.s, "join", DAY);
        assert_int_equal(cluster_state_time_us(g.s), START + 41 * DAY);
        pass(USEC_PER_SEC);
        set_time(g.s, START + DAY + USEC_PER_SEC);
        assert_int_equal(cluster_state_time_us(g.s), now_us);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(read_job(g.s, before).at_us, START);
                assert_int_equal(read_job(g.s, ahead).at_us, now_us);
                assert_int_equal(read_job(g.s, ahead).ended_us, now_us);
                assert_int_equal(read_job(g.s, open).at_us, now_us);
                assert_int_equal(access_token(g.s, "00000001")->created_us, START);
                assert_int_equal(access_token(g.s, "00000001")->expires_us, START + 20 * DAY);
                assert_int_equal(access_token(g.s, "00000002")->created_us, now_us);
                assert_int_equal(access_token(g.s, "00000002")->expires_us, now_us + 5 * DAY);
                assert_in_range(cluster_state_find_token(g.s, "join")->expires_us,
                                now_us + DAY - 2 * USEC_PER_SEC, now_us + DAY);
                pass_through_image(g.s);
        }
        pass(DAY);
        end_job(g.s, open); // what comes behind it is dated as it is
        uint64_t later = put_job(g.s, DONE);
        assert_int_equal(read_job(g.s, open).ended_us, now_us);
        assert_int_equal(read_job(g.s, later).at_us, now_us);
        assert_int_equal(read_job(g.s, ahead).at_us, now_us - DAY);
        assert_int_equal(cluster_state_time_us(g.s), now_us);
}

static void a_job_is_dated_by_when_it_began_however_many_entries_it_has(void **state) {
        uint64_t job = put_job(g.s, RUNNING);

        pass(USEC_PER_SEC);
        go_on(g.s, job);
        pass(USEC_PER_SEC);
        go_on(g.s, job);
        assert_int_equal(read_job(g.s, job).at_us, START);
        set_time(g.s, START - DAY); // it lies ahead then
        pass(USEC_PER_SEC);
        go_on(g.s, job);
        assert_int_equal(read_job(g.s, job).at_us, START - DAY);
        pass_through_image(g.s);
        assert_int_equal(read_job(g.s, job).at_us, START - DAY);
        end_job(g.s, job);
        assert_int_equal(read_job(g.s, job).at_us, START - DAY);
        assert_int_equal(read_job(g.s, job).ended_us, now_us);
}

// The time is set again and again: what was dated by each of them is told by those behind it.
static void the_time_can_be_set_more_than_once(void **state) {
        now_us = START + 40 * DAY;
        uint64_t first = put_job(g.s, DONE);
        set_time(g.s, START + 10 * DAY);
        uint64_t second = put_job(g.s, DONE);
        set_time(g.s, START + 5 * DAY); // which the one before did not need
        assert_int_equal(read_job(g.s, first).at_us, START + 5 * DAY);
        assert_int_equal(read_job(g.s, second).at_us, START + 5 * DAY);
        set_time(g.s, START + 7 * DAY);
        assert_int_equal(read_job(g.s, first).at_us, START + 5 * DAY);
        pass_through_image(g.s);
        for (uint64_t i = 2; i < CLUSTER_TIME_SETS_MAX; i++) {
                assert_true(cluster_state_takes_time_set(g.s, START + (7 + i) * DAY));
                set_time(g.s, START + (7 + i) * DAY);
        }
        assert_false(cluster_state_takes_time_set(g.s, START + 50 * DAY));
        assert_true(cluster_state_takes_time_set(g.s, START + DAY));
        passed_us = (CLUSTER_JOB_DAYS_MAX + 1) * DAY;
        nothing(g.s);
        assert_true(cluster_state_takes_time_set(g.s, START + 50 * DAY));
}

RUN_TESTS(
        TIME(a_clock_that_is_ahead_deletes_nothing),
        TIME(behind_a_clock_that_was_ahead_the_logs_time_goes_on),
        TIME(a_month_without_power_deletes_nothing),
        TIME(what_leaders_have_counted_deletes),
        TIME(setting_the_time_brings_back_what_lies_ahead),
        TIME(a_job_is_dated_by_when_it_began_however_many_entries_it_has),
        TIME(the_time_can_be_set_more_than_once)
)
