// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the log keeps of what was asked for: what a job's operations replaced, and whose a revision is.
#include "jobs-words.h"

enum { SOME = 40 };

static void a_job_says_what_its_operations_replaced(void **state) {
        Hash web = hash_of(WEB, strlen(WEB));

        begin(g.s, 1);
        uint64_t before = cluster_state_revision(g.s);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true}); // two operations
        batch_job(&g.b, (JobPut){.n_ops = 2, .verb = "start"})->reason = "why not";
        batch_set_time(&g.b, g.s, 77);
        apply(g.s, &g.b);
        Argosy__JobRecord *first = job(g.s, 1);
        assert_int_equal(first->number, 1);
        assert_int_equal(first->at_us, 77);
        assert_string_equal(first->verb, "start");
        assert_string_equal(first->reason, "why not");
        assert_int_equal(first->revision_before, before);
        assert_int_equal(first->revision, cluster_state_revision(g.s));
        assert_int_equal(first->n_units, 1);
        assert_int_equal(first->units[0]->spec.len, 0); // there was none
        assert_int_equal(first->units[0]->n_names, 1);
        assert_string_equal(first->units[0]->names[0], "a.service");
        assert_int_equal(first->units[0]->revisions[0], unit(g.s, "a.service")->revision);
        message_free(first);

        batch_unit(&g.b, "a.service", WEB2, (UnitPut){.target = LOADED});
        batch_job(&g.b, (JobPut){.n_ops = 2, .verb = "load"});
        apply(g.s, &g.b);
        _cleanup_(message_freep) Argosy__JobRecord *second = job(g.s, 2);
        assert_int_equal(second->n_units, 1);
        assert_int_equal(second->units[0]->target, LAUNCHED);
        assert_int_equal(second->units[0]->spec.len, HASH_SIZE);
        assert_memory_equal(second->units[0]->spec.data, &web, HASH_SIZE);
        message_free(second);

        batch_unit_remove(&g.b, "a.service");
        batch_job(&g.b, (JobPut){.n_ops = 1, .verb = "destroy"});
        apply(g.s, &g.b);
        second = job(g.s, 3);
        assert_int_equal(second->n_units, 1);
        assert_int_equal(second->units[0]->target, LOADED);
        assert_int_equal(second->units[0]->revisions[0], cluster_state_revision(g.s));
}

// What there was in between is nobody's content.
static void a_unit_that_a_job_puts_twice_is_one_of_its_units(void **state) {
        static const char between[] = "[Service]\nExecStart=/bin/between\n";
        Hash web = hash_of(WEB, strlen(WEB)), web2 = hash_of(WEB2, strlen(WEB2));

        begin(g.s, 1);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED});
        batch_unit(&g.b, "b.service", WEB, (UnitPut){.target = LAUNCHED});
        apply(g.s, &g.b);
        batch_unit(&g.b, "a.service", between, (UnitPut){.target = LAUNCHED}); // two operations each
        batch_unit(&g.b, "b.service", WEB2, (UnitPut){.target = LAUNCHED});
        batch_unit(&g.b, "a.service", WEB2, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 6});
        apply(g.s, &g.b);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(g.s, 1);
        assert_int_equal(record->n_units, 1);
        assert_int_equal(record->units[0]->n_names, 2);
        assert_int_equal(record->units[0]->n_revisions, 2);
        assert_memory_equal(record->units[0]->spec.data, &web, HASH_SIZE);
        assert_memory_equal(record->units[0]->spec_after.data, &web2, HASH_SIZE);
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(record->units[0]->revisions[i],
                                 unit(g.s, record->units[0]->names[i])->revision);
}

static void units_that_were_alike_stand_together(void **state) {
        char name[32];

        begin(g.s, 1);
        Hash spec = batch_spec(&g.b, WEB);
        for (unsigned i = 0; i < SOME; i++) {
                snprintf(name, sizeof name, "w@%u.service", i);
                batch_unit_only(&g.b, name, &spec, (UnitPut){.target = LAUNCHED});
        }
        batch_job(&g.b, (JobPut){.n_ops = SOME + 1});
        apply(g.s, &g.b);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(g.s, 1);
        assert_int_equal(record->n_units, 1);
        assert_int_equal(record->units[0]->n_names, SOME);
        assert_int_equal(record->units[0]->n_revisions, SOME);
        assert_int_equal(record->units[0]->revisions[SOME - 1], cluster_state_revision(g.s));
}

// Others are decided in the same entry: moves, and the requests of others.
static void a_job_has_its_own_operations_only(void **state) {
        Argosy__JobRecord *record;

        begin(g.s, 1);
        Hash spec = batch_spec(&g.b, WEB);
        batch_unit_only(&g.b, "moved.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_unit_only(&g.b, "a.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 1});
        batch_unit_only(&g.b, "b.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 3}); // more than there are since the last one
        apply(g.s, &g.b);
        for (uint64_t i = 1; i <= 2; i++) {
                record = job(g.s, i);
                assert_int_equal(record->n_units, 1);
                assert_int_equal(record->units[0]->n_names, 1);
                assert_string_equal(record->units[0]->names[0], i == 1 ? "a.service" : "b.service");
                message_free(record);
        }
}

static void what_was_skipped_is_in_no_job(void **state) {
        Hash nothing = {};

        begin(g.s, 1);
        // of no spec that there is
        batch_unit_only(&g.b, "a.service", &nothing, (UnitPut){.target = LAUNCHED});
        batch_unit_remove(&g.b, "b.service");
        batch_job(&g.b, (JobPut){.n_ops = 2});
        apply(g.s, &g.b);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(g.s, 1);
        assert_int_equal(record->n_units, 0);
        assert_int_equal(record->revision, record->revision_before);
}

static void a_request_of_several_entries_is_one_job(void **state) {
        RequestKey key;
        uint8_t id[16];

        begin(g.s, 1);
        make_id(id, 5);
        batch_unit(&g.b, "a.service", WEB, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 2, .id = id, .more = true, .verb = "start"});
        batch_set_time(&g.b, g.s, 8);
        g.b.log.ops[g.b.log.n_ops - 1]->job->done = 256;
        apply(g.s, &g.b);
        pass_through_image(g.s);
        assert_true(cluster_state_find_key(g.s, id, &key));
        assert_true(key.more);
        assert_int_equal(key.done, 256);

        batch_unit(&g.b, "b.service", WEB, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 2, .id = id, .number = key.job, .verb = "not looked at"});
        batch_set_time(&g.b, g.s, 9);
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_last_job(g.s), 1);
        assert_true(cluster_state_find_key(g.s, id, &key));
        assert_false(key.more);
        _cleanup_(message_freep) Argosy__JobRecord *record = job(g.s, 1);
        assert_string_equal(record->verb, "start");
        assert_int_equal(record->at_us, 8);
        assert_int_equal(record->n_units, 2);
        assert_string_equal(record->units[1]->names[0], "b.service");
        assert_int_equal(record->revision, cluster_state_revision(g.s));
        message_free(record);
        pass_through_image(g.s);
        record = job(g.s, 1);
        assert_int_equal(record->n_units, 2);
}

static void whose_a_revision_is_can_be_told(void **state) {
        begin(g.s, 1);
        Hash spec = batch_spec(&g.b, WEB);
        batch_unit_only(&g.b, "a.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 2, .more = true}); // 1
        batch_unit_only(&g.b, "b.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 1}); // 2
        apply(g.s, &g.b);
        batch_unit_only(&g.b, "c.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 1, .number = 1});
        batch_unit_only(&g.b, "d.service", &spec, (UnitPut){.target = LAUNCHED});
        batch_job(&g.b, (JobPut){.n_ops = 1}); // 3
        apply(g.s, &g.b);
        assert_int_equal(cluster_state_find_job_of(g.s, "a.service", unit(g.s, "a.service")->revision), 1);
        assert_int_equal(cluster_state_find_job_of(g.s, "b.service", unit(g.s, "b.service")->revision), 2);
        assert_int_equal(cluster_state_find_job_of(g.s, "c.service", unit(g.s, "c.service")->revision), 1);
        assert_int_equal(cluster_state_find_job_of(g.s, "d.service", unit(g.s, "d.service")->revision), 3);
        assert_int_equal(cluster_state_find_job_of(g.s, "a.service", 0), 0);

        // by the cluster itself
        batch_unit_only(&g.b, "a.service", &spec, (UnitPut){.target = LAUNCHED, .node = 1});
        apply(g.s, &g.b);
        uint64_t moved = unit(g.s, "a.service")->revision;
        assert_int_equal(cluster_state_find_job_of(g.s, "a.service", moved), 0);
        pass_through_image(g.s);
        assert_int_equal(cluster_state_find_job_of(g.s, "c.service", unit(g.s, "c.service")->revision), 1);
        assert_int_equal(cluster_state_find_job_of(g.s, "a.service", moved), 0);
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
        begin(g.s, 1);
        put_many(g.s, 0, 0);
        put_many(g.s, MANY_UNITS, 1);
        Argosy__JobRecord *record = job(g.s, 1);
        assert_true(record->cut);
        assert_int_equal(record->n_units, 0);
        message_free(record);
        for (unsigned times = 0; times < 2; times++) {
                assert_int_equal(job_of(g.s, 1), 1);
                assert_int_equal(job_of(g.s, MANY_UNITS - 1), 0);
                assert_int_equal(job_of(g.s, MANY_UNITS), 1);
                assert_int_equal(job_of(g.s, 2 * MANY_UNITS - 1), 0);
                pass_through_image(g.s);
        }
}

static void there_are_only_jobs_that_are_kept(void **state) {
        Argosy__JobRecord *record;

        assert_int_equal(cluster_state_last_job(g.s), 0);
        assert_int_equal(cluster_state_first_job(g.s), 1);
        assert_int_equal(cluster_state_read_job(g.s, 0, &record), -ENOENT);
        assert_int_equal(cluster_state_read_job(g.s, 1, &record), -ENOENT);
}

RUN_TESTS(TEST(a_job_says_what_its_operations_replaced),
          TEST(a_unit_that_a_job_puts_twice_is_one_of_its_units), TEST(units_that_were_alike_stand_together),
          TEST(a_job_has_its_own_operations_only), TEST(what_was_skipped_is_in_no_job),
          TEST(a_request_of_several_entries_is_one_job), TEST(whose_a_revision_is_can_be_told),
          TEST(also_of_units_that_a_job_cannot_name), TEST(there_are_only_jobs_that_are_kept))
