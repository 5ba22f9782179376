// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs that go on behind others: whose a revision was is known however many entries there have been, and no
// entry looks at all of them. What is counted are looks for a job by its number.
#include "cluster-words.h"

#include "cluster-snapshot.h"
#include "cluster-state-private.h"
#include "feature-level.h"

enum { ENTRIES = 3000, LOOKS_MAX = 64, DAYS = CLUSTER_JOB_DAYS_MAX };

static const uint64_t day_us = UINT64_C(86400) * 1000000;
static unsigned n_looks;

const JobEntry *__real_job_view_find(const JobView *v, uint64_t number);
const JobEntry *__wrap_job_view_find(const JobView *v, uint64_t number);

const JobEntry *__wrap_job_view_find(const JobView *v, uint64_t number) {
        n_looks++;
        return __real_job_view_find(v, number);
}

static void begin(ClusterState *s) {
        Batch b = {};

        batch_cluster(&b, 1);
        b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
        batch_set_time(&b, s, day_us);
        apply(s, &b);
}

// Of a new job, or `number` goes on. Returns the revision that it has given.
static uint64_t put(ClusterState *s, uint64_t number, uint64_t at_us) {
        Batch b = {};

        batch_unit(&b, "a.service", WEB, (UnitPut){.target = LAUNCHED, .start = true});
        batch_job(&b, (JobPut){.n_ops = 2, .number = number});
        batch_set_time(&b, s, at_us);
        apply(s, &b);
        return cluster_state_revision(s);
}

static uint64_t job_of(ClusterState *s, uint64_t revision) {
        return cluster_state_find_job_of(s, "a.service", revision);
}

static void no_entry_looks_at_all_of_them(void **state) {
        unsigned most = 0;

        begin(g.s);
        (void) put(g.s, 0, day_us);
        (void) put(g.s, 0, day_us);
        for (unsigned i = 0; i < ENTRIES; i++) {
                n_looks = 0;
                (void) put(g.s, 1 + i % 2, day_us);
                most = MAX_OF(most, n_looks);
        }
        assert_in_range(most, 1, LOOKS_MAX);
}

// The one is dropped while the other goes on.
static void whose_a_revision_was_is_known_while_others_go(void **state) {
        uint64_t old[ENTRIES], kept[2 * ENTRIES], found[4];
        _cleanup_buf_ Buf image = {};
        size_t n = 0;

        begin(g.s);
        (void) put(g.s, 0, day_us);
        (void) put(g.s, 0, day_us);
        for (size_t i = 0; i < ENTRIES; i++) {
                old[i] = put(g.s, 1, day_us);
                kept[n++] = put(g.s, 2, day_us);
        }
        (void) put(g.s, 2, (DAYS - 1) * day_us);
        for (size_t i = 0; i < ENTRIES; i++) {
                assert_int_equal(job_of(g.s, old[i]), 1);
                assert_int_equal(job_of(g.s, kept[i]), 2);
        }
        for (size_t i = 0; i < ENTRIES; i++) {
                kept[n++] = put(g.s, 2, (DAYS + 2) * day_us);
                assert_int_equal(cluster_state_first_job(g.s), 2);
                for (size_t k = i % 97; k < n; k += 97) {
                        assert_int_equal(job_of(g.s, kept[k]), 2);
                        assert_int_equal(job_of(g.s, old[k % ENTRIES]), 0);
                }
                assert_int_equal(job_of(g.s, kept[n - 1]), 2);
                assert_int_equal(cluster_state_late_jobs(g.s, kept[0], UINT64_MAX, found, ELEMENTSOF(found)),
                                 1);
                assert_int_equal(found[0], 2);
        }
        assert_in_range(g.s->jobs.late.n, n, n + n / 4);
        assert_int_equal(cluster_state_jobs_complete_from(g.s), old[ENTRIES - 1]);
        assert_int_equal(cluster_state_encode(g.s, &image), 0);
        assert_int_equal(cluster_state_restore(g.s, image.data, image.len), 0);
        assert_int_equal(cluster_state_jobs_complete_from(g.s), old[ENTRIES - 1]);
}

RUN_TESTS(
        TEST(no_entry_looks_at_all_of_them),
        TEST(whose_a_revision_was_is_known_while_others_go)
)
