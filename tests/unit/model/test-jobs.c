// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the log keeps of what was asked for: what a job's operations replaced, how much of that is kept, and
// by which ids requests are known again. The same on every voter, whenever it took a snapshot.
#include "cluster-words.h"

#include "cluster-encoder.h"
#include "cluster-snapshot.h"
#include "feature-level.h"
#include "message.h"
#include "messages.h"

enum { SOME = 40 };

static Argosy__JobRecord *job(ClusterState *s, uint64_t number) {
        Argosy__JobRecord *record;

        assert_int_equal(cluster_state_read_job(s, number, &record), 0);
        return record;
}

static void assert_same_image(const ClusterState *a, const ClusterState *b) {
        _cleanup_buf_ Buf image_a = {}, image_b = {};

        assert_int_equal(cluster_state_encode(a, &image_a), 0);
        assert_int_equal(cluster_state_encode(b, &image_b), 0);
        assert_int_equal(image_a.len, image_b.len);
        assert_memory_equal(image_a.data, image_b.data, image_a.len);
}

// A cluster whose log may contain jobs.
static void begin(ClusterState *s, uint64_t at_us) {
        Batch b = {};

        batch_cluster(&b, 1);
        b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
        batch_set_time(&b, s, at_us);
        apply(s, &b);
}

static void make_id(uint8_t ret[16], uint64_t number) {
        memset(ret, 0, 16);
        memcpy(ret, &number, sizeof number);
}

// ------------------------------------------------------------------------------------------------ records

static void a_job_says_what_its_operations_replaced(void **state) {
        ClusterState *s = *state;
        Hash web = hash_of(WEB, strlen(WEB));
        Batch b = {};

        begin(s, 1);
        uint64_t before = cluster_state_revision(s);
        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true}); // two operations
        batch_job(&b, (JobPut){.n_ops = 2, .verb = "start"})->reason = "why not";
        batch_set_time(&b, s, 77);
        apply(s, &b);
        Argosy__JobRecord *first = job(s, 1);
        assert_int_equal(first->number, 1);
        assert_int_equal(first->at_us, 77);
        assert_string_equal(first->verb, "start");
        assert_string_equal(first->reason, "why not");
        assert_int_equal(first->revision_before, before);
        assert_int_equal(first->revision, cluster_state_revision(s));
        assert_int_equal(first->n_units, 1);
        assert_int_equal(first->units[0]->spec.len, 0); // there was none
        assert_int_equal(first->units[0]->n_names, 1);
        assert_string_equal(first->units[0]->names[0], "a.service");
        assert_int_equal(first->units[0]->revisions[0], unit(s, "a.service")->revision);
        message_free(first);

        batch_unit(&b, "a.service", WEB2, (UnitPut){.target = LOADED});
        batch_job(&b, (JobPut){.n_ops = 2, .verb = "load"});
        apply(s, &b);
        Argosy__JobRecord *second = job(s, 2);
        assert_int_equal(second->n_units, 1);
        assert_int_equal(second->units[0]->target, LAUNCHED);
        assert_int_equal(second->units[0]->spec.len, HASH_SIZE);
        assert_memory_equal(second->units[0]->spec.data, &web, HASH_SIZE);
        message_free(second);

        batch_unit_remove(&b, "a.service");
        batch_job(&b, (JobPut){.n_ops = 1, .verb = "destroy"});
        apply(s, &b);
        second = job(s, 3);
        assert_int_equal(second->n_units, 1);
        assert_int_equal(second->units[0]->target, LOADED);
        assert_int_equal(second->units[0]->revisions[0], cluster_state_revision(s));
        message_free(second);
}

static void units_that_were_alike_stand_together(void **state) {
        ClusterState *s = *state;
        char name[32];
        Batch b = {};

        begin(s, 1);
        Hash spec = batch_spec(&b, WEB);
        for (unsigned i = 0; i < SOME; i++) {
                snprintf(name, sizeof name, "w@%u.service", i);
                batch_unit_only(&b, name, &spec, (UnitPut){.target = LAUNCHED});
        }
        batch_job(&b, (JobPut){.n_ops = SOME + 1});
        apply(s, &b);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(s, 1);
        assert_int_equal(record->n_units, 1);
        assert_int_equal(record->units[0]->n_names, SOME);
        assert_int_equal(record->units[0]->n_revisions, SOME);
        assert_int_equal(record->units[0]->revisions[SOME - 1], cluster_state_revision(s));
}

// Others are decided in the same entry: moves, and the requests of others.
static void a_job_has_its_own_operations_only(void **state) {
        ClusterState *s = *state;
        Argosy__JobRecord *record;
        Batch b = {};

        begin(s, 1);
        Hash spec = batch_spec(&b, WEB);
        batch_unit_only(&b, "moved.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_unit_only(&b, "a.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 1});
        batch_unit_only(&b, "b.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 3}); // more than there are since the last one
        apply(s, &b);
        for (uint64_t i = 1; i <= 2; i++) {
                record = job(s, i);
                assert_int_equal(record->n_units, 1);
                assert_int_equal(record->units[0]->n_names, 1);
                assert_string_equal(record->units[0]->names[0], i == 1 ? "a.service" : "b.service");
                message_free(record);
        }
}

static void what_was_skipped_is_in_no_job(void **state) {
        ClusterState *s = *state;
        Hash nothing = {};
        Batch b = {};

        begin(s, 1);
        // of no spec that there is
        batch_unit_only(&b, "a.service", &nothing, (UnitPut){.target = LAUNCHED});
        batch_unit_remove(&b, "b.service");
        batch_job(&b, (JobPut){.n_ops = 2});
        apply(s, &b);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(s, 1);
        assert_int_equal(record->n_units, 0);
        assert_int_equal(record->revision, record->revision_before);
}

static void a_request_of_several_entries_is_one_job(void **state) {
        ClusterState *s = *state;
        RequestKey key;
        uint8_t id[16];
        Batch b = {};

        begin(s, 1);
        make_id(id, 5);
        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 2, .id = id, .more = true, .verb = "start"});
        b.log.ops[b.log.n_ops - 1]->job->done = 256;
        apply(s, &b);
        pass_through_image(s);
        assert_true(cluster_state_find_key(s, id, &key));
        assert_true(key.more);
        assert_int_equal(key.done, 256);

        batch_unit(&b, "b.service", WEB, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 2, .id = id, .number = key.job, .verb = "not looked at"});
        batch_set_time(&b, s, 9);
        apply(s, &b);
        assert_int_equal(cluster_state_last_job(s), 1);
        assert_true(cluster_state_find_key(s, id, &key));
        assert_false(key.more);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(s, 1);
        assert_string_equal(record->verb, "start");
        assert_int_equal(record->at_us, 9);
        assert_int_equal(record->n_units, 2);
        assert_string_equal(record->units[1]->names[0], "b.service");
        assert_int_equal(record->revision, cluster_state_revision(s));
        message_free(record);
        pass_through_image(s);
        record = job(s, 1);
        assert_int_equal(record->n_units, 2);
}

static void whose_a_revision_is_can_be_told(void **state) {
        ClusterState *s = *state;
        Batch b = {};

        begin(s, 1);
        Hash spec = batch_spec(&b, WEB);
        batch_unit_only(&b, "a.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 2, .more = true}); // 1
        batch_unit_only(&b, "b.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 1}); // 2
        apply(s, &b);
        batch_unit_only(&b, "c.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 1, .number = 1});
        batch_unit_only(&b, "d.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = 1}); // 3
        apply(s, &b);
        assert_int_equal(cluster_state_find_job_of(s, "a.service", unit(s, "a.service")->revision), 1);
        assert_int_equal(cluster_state_find_job_of(s, "b.service", unit(s, "b.service")->revision), 2);
        assert_int_equal(cluster_state_find_job_of(s, "c.service", unit(s, "c.service")->revision), 1);
        assert_int_equal(cluster_state_find_job_of(s, "d.service", unit(s, "d.service")->revision), 3);
        assert_int_equal(cluster_state_find_job_of(s, "a.service", 0), 0);

        // by the cluster itself
        batch_unit_only(&b, "a.service", &spec, (UnitPut){.target = LAUNCHED, .node = 1});
        apply(s, &b);
        uint64_t moved = unit(s, "a.service")->revision;
        assert_int_equal(cluster_state_find_job_of(s, "a.service", moved), 0);
        pass_through_image(s);
        assert_int_equal(cluster_state_find_job_of(s, "c.service", unit(s, "c.service")->revision), 1);
        assert_int_equal(cluster_state_find_job_of(s, "a.service", moved), 0);
}

enum { LONG_NAME = 220, MANY_UNITS = 5000 }; // of such names, more than a job keeps

static const char *long_name(unsigned i) {
        static char name[LONG_NAME + 1];

        snprintf(name, sizeof name, "%0*u.service", LONG_NAME - 8, i);
        return name;
}

// One entry of a job of many; the cluster then moves the last of its units by itself.
static void put_many(ClusterState *s, unsigned first, uint64_t number) {
        Batch b = {};
        Hash spec = batch_spec(&b, WEB);

        for (unsigned i = first; i < first + MANY_UNITS; i++)
                batch_unit_only(&b, long_name(i), &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&b, (JobPut){.n_ops = MANY_UNITS + 1, .number = number});
        apply(s, &b);
        batch_unit_only(&b, long_name(first + MANY_UNITS - 1), &spec,
                        (UnitPut){.target = LAUNCHED, .node = 1});
        apply(s, &b);
}

static uint64_t job_of(ClusterState *s, unsigned i) {
        return cluster_state_find_job_of(s, long_name(i), unit(s, long_name(i))->revision);
}

// Nor need anybody read the names of thousands to tell it of one.
static void also_of_units_that_a_job_cannot_name(void **state) {
        ClusterState *s = *state;

        begin(s, 1);
        put_many(s, 0, 0);
        put_many(s, MANY_UNITS, 1);
        Argosy__JobRecord *record = job(s, 1);
        assert_true(record->cut);
        assert_int_equal(record->n_units, 0);
        message_free(record);
        for (unsigned times = 0; times < 2; times++) {
                assert_int_equal(job_of(s, 1), 1);
                assert_int_equal(job_of(s, MANY_UNITS - 1), 0);
                assert_int_equal(job_of(s, MANY_UNITS), 1);
                assert_int_equal(job_of(s, 2 * MANY_UNITS - 1), 0);
                pass_through_image(s);
        }
}

static void there_are_only_jobs_that_are_kept(void **state) {
        ClusterState *s = *state;
        Argosy__JobRecord *record;

        assert_int_equal(cluster_state_last_job(s), 0);
        assert_int_equal(cluster_state_first_job(s), 1);
        assert_int_equal(cluster_state_read_job(s, 0, &record), -ENOENT);
        assert_int_equal(cluster_state_read_job(s, 1, &record), -ENOENT);
}

// ----------------------------------------------------------------------------------------- how much is kept

static void put_jobs(ClusterState *s, size_t n, uint64_t at_us, const char *reason) {
        Batch b = {};

        argosy__log_batch__init(&b.log);
        for (size_t i = 0; i < n; i++)
                batch_job(&b, (JobPut){.verb = "start"})->reason = (char *) reason;
        batch_set_time(&b, s, at_us);
        apply(s, &b);
}

static void no_more_are_kept_than_there_may_be(void **state) {
        ClusterState *s = *state;

        begin(s, 1);
        for (size_t i = 0; i < CLUSTER_JOBS_MAX; i += 1000)
                put_jobs(s, 1000, 2, "");
        assert_int_equal(cluster_state_first_job(s), 1);
        put_jobs(s, 7, 2, "");
        assert_int_equal(cluster_state_first_job(s), 8);
        assert_int_equal(cluster_state_last_job(s), CLUSTER_JOBS_MAX + 7);
        pass_through_image(s);
        assert_int_equal(cluster_state_first_job(s), 8);
}

static void what_is_old_goes_some_in_each_entry(void **state) {
        const uint64_t day = UINT64_C(86400) * 1000000;
        ClusterState *s = *state;

        begin(s, day);
        put_jobs(s, 1000, day, "");
        put_jobs(s, 1, (CLUSTER_JOB_DAYS_MAX + 1) * day, ""); // as old as may be
        assert_int_equal(cluster_state_first_job(s), 1);
        put_jobs(s, 0, (CLUSTER_JOB_DAYS_MAX + 1) * day + 1, ""); // also an entry without a job drops them
        assert_int_equal(cluster_state_first_job(s), 1 + CLUSTER_JOBS_DROPPED);
        put_jobs(s, 0, day, ""); // a leader whose clock is behind counts no time
        assert_int_equal(cluster_state_first_job(s), 1001);
        put_jobs(s, 0, day, "");
        assert_int_equal(cluster_state_first_job(s), 1001);
}

static void bytes_are_bounded_too(void **state) {
        ClusterState *s = *state;
        char reason[4096];

        memset(reason, 'x', sizeof reason - 1);
        reason[sizeof reason - 1] = 0;
        begin(s, 1);
        for (size_t i = 0; i < 50; i++)
                put_jobs(s, 100, 2, reason);
        assert_true(cluster_state_jobs_bytes(s) <= cluster_state_history_bytes(s));
        assert_true(cluster_state_first_job(s) > 500);
        assert_true(cluster_state_jobs_bytes(s) > cluster_state_history_bytes(s) - 8192);
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
        ClusterState *s = *state;
        char reason[4096];

        memset(reason, 'x', sizeof reason - 1);
        reason[sizeof reason - 1] = 0;
        begin(s, 1);
        assert_int_equal(cluster_state_history_bytes(s), 16 * MIB);
        set_history(s, 20);
        for (size_t i = 0; i < 50; i++)
                put_jobs(s, 100, 2, reason);
        assert_in_range(cluster_state_jobs_bytes(s), 16 * MIB + 1, 20 * MIB);
        uint64_t first = cluster_state_first_job(s);
        set_history(s, 1);
        assert_int_equal(cluster_state_first_job(s), first + CLUSTER_JOBS_DROPPED);
        pass_through_image(s);
        assert_int_equal(cluster_state_history_bytes(s), MIB);
        for (size_t i = 0; i < 10; i++)
                put_jobs(s, 0, 2, "");
        assert_true(cluster_state_jobs_bytes(s) <= MIB);
        assert_true(cluster_state_jobs_bytes(s) > MIB - 8192);
        set_history(s, UINT32_MAX); // which no leader writes
        assert_int_equal(cluster_state_history_bytes(s), (size_t) CLUSTER_HISTORY_MIB_MAX * MIB);
}

// Voters take snapshots when they like, and join at any time.
static void every_voter_keeps_the_same(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *twin = cluster_state_new();
        const uint64_t day = UINT64_C(86400) * 1000000;
        ClusterState *s = *state;
        char reason[2048];

        begin(s, day);
        begin(twin, day);
        for (uint64_t i = 0; i < 300; i++) {
                size_t n = i * 7919 % 90;

                memset(reason, 'y', sizeof reason);
                reason[i * 31 % sizeof reason] = 0;
                put_jobs(s, n, day + i * i * day / 900, reason);
                put_jobs(twin, n, day + i * i * day / 900, reason);
                if (i % 37 == 0)
                        pass_through_image(twin);
        }
        assert_true(cluster_state_first_job(s) > 1);
        assert_same_image(s, twin);
}

// As it is sent for one unit by somebody of a host; with what is in memory beside it.
static void a_job_of_one_unit_is_small(void **state) {
        enum { JOBS = 1000, BESIDE = 32 + 16 + 8 + 43 }; // entry, allocator, ring, key
        ClusterState *s = *state;
        char name[32];
        Batch b = {};

        begin(s, UINT64_C(1700000000) * 1000000);
        for (unsigned i = 0; i < JOBS; i++) {
                Hash spec = batch_spec(&b, WEB);
                char *target = name;

                snprintf(name, sizeof name, "worker@%u.service", i);
                batch_unit_only(&b, name, &spec, (UnitPut){.target = LAUNCHED, .start = true});
                Argosy__JobRecord *record = batch_job(&b, (JobPut){.n_ops = 2, .verb = "start"});
                record->host = 3;
                record->host_name = "node3.example.org";
                record->user = "deployer";
                record->uid = 1000;
                record->uid_known = true;
                record->reason = "release 4711";
                record->targets = &target;
                record->n_targets = 1;
                batch_set_time(&b, s, UINT64_C(1700000000) * 1000000 + i);
                assert_int_equal(cluster_state_apply(s, &b.log), 0);
                batch_done(&b);
        }
        assert_int_equal(cluster_state_last_job(s), JOBS);
        print_message("%zu bytes packed each\n", cluster_state_jobs_bytes(s) / JOBS);
        assert_true(cluster_state_jobs_bytes(s) / JOBS + BESIDE <= 300);
}

// ------------------------------------------------------------------------------------------------ keys

static void a_key_belongs_to_the_first_who_used_it(void **state) {
        ClusterState *s = *state;
        RequestKey key;
        uint8_t id[16];
        Batch b = {};

        begin(s, 1);
        make_id(id, 8);
        assert_false(cluster_state_find_key(s, id, &key));
        batch_job(&b, (JobPut){.id = id, .content = 11});
        batch_job(&b, (JobPut){.id = id, .content = 12});
        apply(s, &b);
        assert_true(cluster_state_find_key(s, id, &key));
        assert_int_equal(key.job, 1);
        assert_int_equal(key.content, 11);
        assert_false(key.more);
        batch_job(&b, (JobPut){.id = id, .content = 13, .more = true}); // nor does who goes on with it
        apply(s, &b);
        assert_true(cluster_state_find_key(s, id, &key));
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

        argosy__log_batch__init(&b.log);
        b.log.at_us = at_us;
        b.log.counted_us = 1;
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
        ClusterState *s = *state;
        uint64_t n = FULL - NEAR;

        begin(s, 1);
        put_keys(s, 0, n, 2);
        for (; n < FULL + NEAR; n++) {
                assert_false(knows(s, n));
                put_keys(s, n, 1, 2);
                for (uint64_t i = 0; i <= n; i++)
                        assert_true(knows(s, i));
        }
        put_keys(s, 0, FULL, 3); // all of them are known
        assert_false(knows(s, n));
        pass_through_image(s);
        for (uint64_t i = 0; i < n; i++)
                assert_true(knows(s, i));
}

// What is forgotten may have been carried out: who repeats it after so long is told that nobody knows. That
// goes by counted time: a clock that is years ahead meanwhile is no reason to say so of every request, nor
// of none.
static void a_million_keys_are_remembered_and_the_oldest_go(void **state) {
        enum { CHUNK = 4096 };
        _cleanup_(cluster_state_freep) ClusterState *twin = cluster_state_new();
        uint64_t n = 0, sec = 1000000, ahead_us = UINT64_C(4000000000) * sec;
        ClusterState *s = *state;

        begin(s, sec);
        begin(twin, sec);
        while (knows(s, 0) || n == 0) {
                put_keys_after(s, n, CHUNK, sec);
                put_keys_after(twin, n, CHUNK, sec);
                if (n / CHUNK == 5) {
                        put_wrong_time(s, ahead_us);
                        put_wrong_time(twin, ahead_us);
                }
                if (n / CHUNK % 100 == 3)
                        pass_through_image(twin);
                n += CHUNK;
                if (knows(s, 0))
                        assert_false(cluster_state_may_have_forgotten(s, 1000000000));
        }
        assert_true(n > CLUSTER_KEYS_MIN);
        assert_true(knows(s, n - 1));
        assert_true(knows(s, n - CLUSTER_KEYS_MIN));
        assert_same_image(s, twin);
        // 16 entries of a second each have been forgotten.
        assert_false(cluster_state_may_have_forgotten(s, 1000));
        assert_false(cluster_state_may_have_forgotten(s, (n / CHUNK - 17) * 1000));
        assert_true(cluster_state_may_have_forgotten(s, (n / CHUNK - 16) * 1000));
        assert_true(cluster_state_may_have_forgotten(s, UINT64_MAX));
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
        Argosy__JobRecord end = ARGOSY__JOB_RECORD__INIT, *pointer = &end;
        Batch b = {};
        Argosy__LogOp__JobEnds ends = MESSAGE_OF(log_op__job_ends, .ends = &pointer, .n_ends = 1);

        end.number = number;
        end.state = ARGOSY__JOB_STATE__JOB_FAILED;
        batch_op(&b, ARGOSY__LOG_OP__OP_JOB_ENDS)->job_ends = &ends;
        apply(s, &b);
}

// It was begun, and nobody can go on with it. One whose job has ended goes before those that are under way.
static void of_what_is_begun_one_is_given_up_and_stays_known(void **state) {
        enum { ENDED = 5 };
        ClusterState *s = *state;
        uint64_t n = 0;
        uint8_t id[16];
        Batch b = {};

        begin(s, 1);
        for (; cluster_state_takes_open_keys(s, 1); n++)
                begin_in_parts(s, n);
        assert_true(n >= 1000);
        end_job(s, key_of(s, ENDED).job);
        assert_true(cluster_state_takes_open_keys(s, 1));
        assert_false(cluster_state_takes_open_keys(s, 2));
        begin_in_parts(s, n);
        assert_true(key_of(s, ENDED).given_up);
        assert_false(key_of(s, ENDED).more);
        assert_int_equal(key_of(s, ENDED).content, ENDED);
        for (uint64_t i = 0; i <= n; i++)
                assert_true(i == ENDED || key_of(s, i).more);

        begin_in_parts(s, n + 1); // more than a leader takes: the oldest goes
        assert_true(key_of(s, 0).given_up);
        make_id(id, 0); // an entry that was on its way
        batch_job(&b, (JobPut){.id = id, .content = 0, .number = key_of(s, 0).job});
        apply(s, &b);
        assert_false(key_of(s, 0).given_up || key_of(s, 0).more);
        pass_through_image(s);
        assert_false(key_of(s, 0).given_up || key_of(s, 0).more);
        assert_true(key_of(s, ENDED).given_up);
        assert_true(key_of(s, 1).more);
}

// Somebody reads it in the pool while jobs come and go.
static void a_snapshot_knows_nothing_of_what_comes_later(void **state) {
        _cleanup_buf_ Buf before = {}, then = {};
        ClusterSnapshot *snapshot;
        ClusterState *s = *state;
        uint8_t id[16];
        Batch b = {};
        int r;

        begin(s, 1);
        put_keys(s, 0, 5000, 2);
        make_id(id, 99999);
        batch_job(&b, (JobPut){.id = id, .more = true});
        apply(s, &b);
        assert_int_equal(cluster_state_encode(s, &before), 0);
        assert_int_equal(cluster_state_snapshot(s, &snapshot), 0);

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED});
        // another part of the last one
        batch_job(&b, (JobPut){.id = id, .n_ops = 2, .number = cluster_state_last_job(s)});
        apply(s, &b);
        for (uint64_t i = 0; i < 30; i++)
                put_keys(s, 100000 + i * 5000, 5000, 3);
        assert_true(cluster_state_first_job(s) > 5001);
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

// ----------------------------------------------------------------------------------------- after a recovery

static void raise_jobs(ClusterState *s, uint64_t floor) {
        Batch b = {};

        batch_cluster(&b, 2);
        b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
        b.log.ops[0]->cluster->job_floor = floor;
        apply(s, &b);
}

// The revision that it has then.
static uint64_t start_unit(ClusterState *s, Argosy__Target target) {
        Batch b = {};

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = target, .start = true});
        batch_job(&b, (JobPut){.n_ops = 2});
        apply(s, &b);
        return unit(s, "a.service")->revision;
}

// An update goes on while others come and go: what each of its entries gave is its own, and comes after what
// came before.
static void what_further_entries_give_is_later_than_their_number(void **state) {
        ClusterState *s = *state;
        uint64_t update, revisions[3], late[4];
        Batch b = {};

        begin(s, 1);
        Hash spec = batch_spec(&b, WEB);
        for (unsigned i = 0; i < 3; i++) {
                batch_unit_only(&b,
                                i == 0   ? "a.service"
                                : i == 1 ? "b.service"
                                         : "c.service",
                                &spec, (UnitPut){.target = LAUNCHED});
                batch_job(&b, (JobPut){.n_ops = i == 0 ? 2 : 1, .number = i == 0 ? 0 : update});
                apply(s, &b);
                update = i == 0 ? cluster_state_last_job(s) : update;
                revisions[i] = cluster_state_revision(s);
                put_jobs(s, 300, 1, ""); // they change nothing
                (void) start_unit(s, LAUNCHED);
        }
        for (unsigned i = 0; i < 2; i++) {
                for (unsigned k = 0; k < 3; k++)
                        assert_int_equal(cluster_state_find_job_of(s, "x.service", revisions[k]), update);
                assert_int_equal(
                        cluster_state_late_jobs(s, revisions[0], UINT64_MAX, late, ELEMENTSOF(late)), 1);
                assert_int_equal(late[0], update);
                assert_int_equal(
                        cluster_state_late_jobs(s, revisions[1], update + 1, late, ELEMENTSOF(late)), 1);
                assert_int_equal(cluster_state_late_jobs(s, revisions[1], update, late, ELEMENTSOF(late)),
                                 0);
                assert_int_equal(
                        cluster_state_late_jobs(s, revisions[2], UINT64_MAX, late, ELEMENTSOF(late)), 0);
                assert_int_equal(cluster_state_job_begun_before(s, revisions[0]), update);
                assert_int_equal(cluster_state_job_begun_before(s, UINT64_MAX), cluster_state_last_job(s));
                assert_int_equal(cluster_state_job_begun_before(s, 0), 0);
                pass_through_image(s);
        }
}

static void assert_numbers(ClusterState *s, const uint64_t *numbers, size_t n) {
        uint64_t number = 0;

        for (size_t i = 0; i < n; i++) {
                Argosy__JobRecord *record = job(s, numbers[i]);

                assert_int_equal(record->number, numbers[i]);
                message_free(record);
                number = cluster_state_job_after(s, number);
                assert_int_equal(number, numbers[i]);
        }
        assert_int_equal(cluster_state_job_after(s, number), 0);
        number = UINT64_MAX;
        for (size_t i = n; i-- > 0;) {
                number = cluster_state_job_before(s, number);
                assert_int_equal(number, numbers[i]);
        }
        assert_int_equal(cluster_state_job_before(s, number), 0);
        assert_int_equal(cluster_state_first_job(s), numbers[0]);
}

// Nobody knows which were given to jobs that are lost.
static void numbers_are_not_given_again_after_a_recovery(void **state) {
        ClusterState *s = *state, *other = cluster_state_new();
        const uint64_t before[] = {1, 2}, behind[] = {1, 2, 1001, 1002}, last[] = {1001, 1002, 5001};
        Argosy__JobRecord *none;
        uint64_t revisions[3];

        begin(s, 1);
        revisions[0] = start_unit(s, LAUNCHED);
        revisions[1] = start_unit(s, LOADED);
        raise_jobs(s, 900);
        raise_jobs(s, 1000); // again, before the first job
        raise_jobs(s, 400);
        assert_int_equal(cluster_state_last_job(s), 1000);
        assert_numbers(s, before, 2);
        pass_through_image(s);
        assert_numbers(s, before, 2);
        revisions[2] = start_unit(s, LAUNCHED);
        (void) start_unit(s, LOADED);
        assert_numbers(s, behind, 4);
        for (uint64_t number = 3; number <= 1003; number += 250)
                assert_int_equal(cluster_state_read_job(s, number, &none), -ENOENT);
        assert_int_equal(cluster_state_find_job_of(s, "a.service", revisions[0]), 1);
        assert_int_equal(cluster_state_find_job_of(s, "a.service", revisions[1]), 2);
        assert_int_equal(cluster_state_find_job_of(s, "a.service", revisions[2]), 1001);
        assert_int_equal(cluster_state_job_before(s, 500), 2);
        assert_int_equal(cluster_state_job_after(s, 500), 1001);
        {
                _cleanup_buf_ Buf image = {};

                assert_int_equal(cluster_state_encode(s, &image), 0);
                assert_int_equal(cluster_state_restore(other, image.data, image.len), 0);
        }
        assert_numbers(other, behind, 4);
        raise_jobs(s, 5000); // what was before the first one goes
        raise_jobs(other, 5000);
        (void) start_unit(s, LAUNCHED);
        (void) start_unit(other, LAUNCHED);
        assert_numbers(s, last, 3);
        assert_same_image(s, other);
        cluster_state_free(other);
}

static void an_image_that_contradicts_itself_is_refused(void **state) {
        Argosy__JobRecord record = JOB_RECORD_OF(.number = 7);
        uint8_t packed[64], bytes[32] = {[24] = 1}, out[256];
        ClusterState *s = *state;
        ProtobufCBinaryData jobs =
                (ProtobufCBinaryData){.len = argosy__job_record__pack(&record, packed), .data = packed};
        Argosy__KeySegment keys = MESSAGE_OF(key_segment, .keys = (ProtobufCBinaryData){.len = sizeof bytes,
                                                                                        .data = bytes}),
                           *segments = &keys;
        Argosy__StateImage image = MESSAGE_OF(state_image, .jobs = &jobs, .n_jobs = 1, .last_job = 7,
                                              .keys = &segments, .n_keys = 1);

        assert_int_equal(cluster_state_restore(s, out, argosy__state_image__pack(&image, out)), 0);
        assert_int_equal(cluster_state_first_job(s), 7);
        image.last_job = 6; // before the last one
        assert_int_equal(cluster_state_restore(s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        image.last_job = 0;
        assert_int_equal(cluster_state_restore(s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        image.last_job = 7;
        bytes[24] = 8; // of a job that there never was
        assert_int_equal(cluster_state_restore(s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        bytes[24] = 1;
        keys.keys.len--;
        assert_int_equal(cluster_state_restore(s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        keys.keys.len++;
        keys.newest_us = 1; // later than anything
        assert_int_equal(cluster_state_restore(s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        assert_int_equal(cluster_state_first_job(s), 7);
}

RUN_TESTS(
        TEST(a_job_says_what_its_operations_replaced),
        TEST(units_that_were_alike_stand_together),
        TEST(a_job_has_its_own_operations_only),
        TEST(what_was_skipped_is_in_no_job),
        TEST(a_request_of_several_entries_is_one_job),
        TEST(whose_a_revision_is_can_be_told),
        TEST(what_further_entries_give_is_later_than_their_number),
        TEST(also_of_units_that_a_job_cannot_name),
        TEST(there_are_only_jobs_that_are_kept),
        TEST(no_more_are_kept_than_there_may_be),
        TEST(what_is_old_goes_some_in_each_entry),
        TEST(bytes_are_bounded_too),
        TEST(how_many_bytes_is_a_setting_of_the_log),
        TEST(every_voter_keeps_the_same),
        TEST(a_job_of_one_unit_is_small),
        TEST(a_key_belongs_to_the_first_who_used_it),
        TEST(a_key_is_found_among_few_and_among_many),
        TEST(a_million_keys_are_remembered_and_the_oldest_go),
        TEST(of_what_is_begun_one_is_given_up_and_stays_known),
        TEST(a_snapshot_knows_nothing_of_what_comes_later),
        TEST(numbers_are_not_given_again_after_a_recovery),
        TEST(an_image_that_contradicts_itself_is_refused)
)
