// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Numbers of jobs and revisions after a recovery from an older log, and images that contradict themselves.
#include "jobs-words.h"

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
        uint64_t update, revisions[3], late[4];

        begin(g.s, 1);
        Hash spec = batch_spec(&g.b, WEB);
        for (unsigned i = 0; i < 3; i++) {
                batch_unit_only(&g.b,
                                i == 0   ? "a.service"
                                : i == 1 ? "b.service"
                                         : "c.service",
                                &spec, (UnitPut){.target = LAUNCHED});
                batch_job(&g.b, (JobPut){.n_ops = i == 0 ? 2 : 1, .number = i == 0 ? 0 : update});
                apply(g.s, &g.b);
                update = i == 0 ? cluster_state_last_job(g.s) : update;
                revisions[i] = cluster_state_revision(g.s);
                put_jobs(g.s, 300, 1, ""); // they change nothing
                (void) start_unit(g.s, LAUNCHED);
        }
        for (unsigned i = 0; i < 2; i++) {
                for (unsigned k = 0; k < 3; k++)
                        assert_int_equal(cluster_state_find_job_of(g.s, "x.service", revisions[k]), update);
                assert_int_equal(
                        cluster_state_late_jobs(g.s, revisions[0], UINT64_MAX, late, ELEMENTSOF(late)), 1);
                assert_int_equal(late[0], update);
                assert_int_equal(
                        cluster_state_late_jobs(g.s, revisions[1], update + 1, late, ELEMENTSOF(late)), 1);
                assert_int_equal(cluster_state_late_jobs(g.s, revisions[1], update, late, ELEMENTSOF(late)),
                                 0);
                assert_int_equal(
                        cluster_state_late_jobs(g.s, revisions[2], UINT64_MAX, late, ELEMENTSOF(late)), 0);
                assert_int_equal(cluster_state_job_begun_before(g.s, revisions[0]), update);
                assert_int_equal(cluster_state_job_begun_before(g.s, UINT64_MAX),
                                 cluster_state_last_job(g.s));
                assert_int_equal(cluster_state_job_begun_before(g.s, 0), 0);
                pass_through_image(g.s);
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
        ProtobufCBinaryData jobs =
                (ProtobufCBinaryData){.len = argosy__job_record__pack(&record, packed), .data = packed};
        Argosy__KeySegment keys = MESSAGE_OF(key_segment, .keys = (ProtobufCBinaryData){.len = sizeof bytes,
                                                                                        .data = bytes}),
                           *segments = &keys;
        Argosy__StateImage image = MESSAGE_OF(state_image, .jobs = &jobs, .n_jobs = 1, .last_job = 7,
                                              .keys = &segments, .n_keys = 1);

        assert_int_equal(cluster_state_restore(g.s, out, argosy__state_image__pack(&image, out)), 0);
        assert_int_equal(cluster_state_first_job(g.s), 7);
        image.last_job = 6; // before the last one
        assert_int_equal(cluster_state_restore(g.s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        image.last_job = 0;
        assert_int_equal(cluster_state_restore(g.s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        image.last_job = 7;
        bytes[24] = 8; // of a job that there never was
        assert_int_equal(cluster_state_restore(g.s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        bytes[24] = 1;
        keys.keys.len--;
        assert_int_equal(cluster_state_restore(g.s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        keys.keys.len++;
        keys.newest_us = 1; // later than anything
        assert_int_equal(cluster_state_restore(g.s, out, argosy__state_image__pack(&image, out)), -EBADMSG);
        assert_int_equal(cluster_state_first_job(g.s), 7);
}

RUN_TESTS(TEST(what_further_entries_give_is_later_than_their_number),
          TEST(numbers_are_not_given_again_after_a_recovery),
          TEST(an_image_that_contradicts_itself_is_refused))
