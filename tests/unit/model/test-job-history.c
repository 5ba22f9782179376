// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How many jobs the log keeps: their number, their age and their bytes.
#include "jobs-words.h"

static void no_more_are_kept_than_there_may_be(void **state) {
        begin(g.s, 1);
        for (size_t i = 0; i < CLUSTER_JOBS_MAX; i += 1000)
                put_jobs(g.s, 1000, 2, "");
        assert_int_equal(cluster_state_first_job(g.s), 1);
        put_jobs(g.s, 7, 2, "");
        assert_int_equal(cluster_state_first_job(g.s), 8);
        assert_int_equal(cluster_state_last_job(g.s), CLUSTER_JOBS_MAX + 7);
        pass_through_image(g.s);
        assert_int_equal(cluster_state_first_job(g.s), 8);
}

static void what_is_old_goes_some_in_each_entry(void **state) {
        const uint64_t day = UINT64_C(86400) * 1000000;

        begin(g.s, day);
        put_jobs(g.s, 1000, day, "");
        put_jobs(g.s, 1, (CLUSTER_JOB_DAYS_MAX + 1) * day, ""); // as old as may be
        assert_int_equal(cluster_state_first_job(g.s), 1);
        put_jobs(g.s, 0, (CLUSTER_JOB_DAYS_MAX + 1) * day + 1, ""); // also an entry without a job drops them
        assert_int_equal(cluster_state_first_job(g.s), 1 + CLUSTER_JOBS_DROPPED);
        put_jobs(g.s, 0, day, ""); // a leader whose clock is behind counts no time
        assert_int_equal(cluster_state_first_job(g.s), 1001);
        put_jobs(g.s, 0, day, "");
        assert_int_equal(cluster_state_first_job(g.s), 1001);
}

static void bytes_are_bounded_too(void **state) {
        char reason[4096];

        memset(reason, 'x', sizeof reason - 1);
        reason[sizeof reason - 1] = 0;
        begin(g.s, 1);
        for (size_t i = 0; i < 50; i++)
                put_jobs(g.s, 100, 2, reason);
        assert_true(cluster_state_jobs_bytes(g.s) <= cluster_state_history_bytes(g.s));
        assert_true(cluster_state_first_job(g.s) > 500);
        assert_true(cluster_state_jobs_bytes(g.s) > cluster_state_history_bytes(g.s) - 8192);
}

static void set_history(ClusterState *s, uint32_t mib) {
        Batch b = {};
        Argosy__QueueRecord *queue = BATCH_NEW(&b, Argosy__QueueRecord, argosy__queue_record__init);

        queue->history_mib = mib;
        batch_op(&b, ARGOSY__LOG_OP__OP_QUEUE)->queue = queue;
        apply(s, &b);
}

// What is too much then goes a few at a time, with the entries that come.
static void how_many_bytes_is_a_setting_of_the_log(void **state) {
        enum { MIB = 1024 * 1024 };
        char reason[4096];

        memset(reason, 'x', sizeof reason - 1);
        reason[sizeof reason - 1] = 0;
        begin(g.s, 1);
        assert_int_equal(cluster_state_history_bytes(g.s), 16 * MIB);
        set_history(g.s, 20);
        for (size_t i = 0; i < 50; i++)
                put_jobs(g.s, 100, 2, reason);
        assert_in_range(cluster_state_jobs_bytes(g.s), 16 * MIB + 1, 20 * MIB);
        uint64_t first = cluster_state_first_job(g.s);
        set_history(g.s, 1);
        assert_int_equal(cluster_state_first_job(g.s), first + CLUSTER_JOBS_DROPPED);
        pass_through_image(g.s);
        assert_int_equal(cluster_state_history_bytes(g.s), MIB);
        for (size_t i = 0; i < 10; i++)
                put_jobs(g.s, 0, 2, "");
        assert_true(cluster_state_jobs_bytes(g.s) <= MIB);
        assert_true(cluster_state_jobs_bytes(g.s) > MIB - 8192);
        set_history(g.s, UINT32_MAX); // which no leader writes
        assert_int_equal(cluster_state_history_bytes(g.s), (size_t) CLUSTER_HISTORY_MIB_MAX * MIB);
}

// Voters take snapshots when they like, and join at any time.
static void every_voter_keeps_the_same(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *twin = cluster_state_new();
        const uint64_t day = UINT64_C(86400) * 1000000;
        char reason[2048];

        begin(g.s, day);
        begin(twin, day);
        for (uint64_t i = 0; i < 300; i++) {
                size_t n = i * 7919 % 90;

                memset(reason, 'y', sizeof reason);
                reason[i * 31 % sizeof reason] = 0;
                put_jobs(g.s, n, day + i * i * day / 900, reason);
                put_jobs(twin, n, day + i * i * day / 900, reason);
                if (i % 37 == 0)
                        pass_through_image(twin);
        }
        assert_true(cluster_state_first_job(g.s) > 1);
        assert_same_image(g.s, twin);
}

// As it is sent for one unit by somebody of a host; with what is in memory beside it.
static void a_job_of_one_unit_is_small(void **state) {
        enum { JOBS = 1000, BESIDE = 32 + 16 + 8 + 43 }; // entry, allocator, ring, key
        char name[32];

        begin(g.s, UINT64_C(1700000000) * 1000000);
        for (unsigned i = 0; i < JOBS; i++) {
                Hash spec = batch_spec(&g.b, WEB);
                char *target = name;

                snprintf(name, sizeof name, "worker@%u.service", i);
                batch_unit_only(&g.b, name, &spec, (UnitPut){.target = LAUNCHED, .start = true});
                Argosy__JobRecord *record = batch_job(&g.b, (JobPut){.n_ops = 2, .verb = "start"});
                record->host = 3;
                record->host_name = "node3.example.org";
                record->user = "deployer";
                record->uid = 1000;
                record->uid_known = true;
                record->reason = "release 4711";
                record->targets = &target;
                record->n_targets = 1;
                batch_set_time(&g.b, g.s, UINT64_C(1700000000) * 1000000 + i);
                assert_int_equal(cluster_state_apply(g.s, &g.b.log), 0);
                batch_done(&g.b);
        }
        assert_int_equal(cluster_state_last_job(g.s), JOBS);
        print_message("%zu bytes packed each\n", cluster_state_jobs_bytes(g.s) / JOBS);
        assert_true(cluster_state_jobs_bytes(g.s) / JOBS + BESIDE <= 300);
}

RUN_TESTS(TEST(no_more_are_kept_than_there_may_be), TEST(what_is_old_goes_some_in_each_entry),
          TEST(bytes_are_bounded_too), TEST(how_many_bytes_is_a_setting_of_the_log),
          TEST(every_voter_keeps_the_same), TEST(a_job_of_one_unit_is_small))
