// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What has changed between the moments of two jobs, as the leader tells it to whoever asks (job-changes.h),
// while an update goes on for longer than what comes after it.
#include "answer-jobs.h"
#include "job-changes.h"
#include "leader-asks.h"
#include "leader-private.h"

#define ONE "[Service]\nExecStart=/bin/sleep 1000\n"
#define TWO "[Service]\nExecStart=/bin/sleep 2000\n"

enum { INSTANCES = 4 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        g.author = NULL;
}

RIG_TEARDOWN

static const char *instance(unsigned i) {
        static char name[32];

        snprintf(name, sizeof(name), "w@%u.service", i);
        return name;
}

static size_t n_updated(void) {
        size_t n = 0;

        for (unsigned i = 1; i <= INSTANCES; i++)
                n += rig_has_content(&g, instance(i), TWO);
        return n;
}

static uint64_t label(const char *value) {
        RigAnswer *a = rig_label(&g, "n2", "a", value);

        assert_final(a, 0);
        return rig_last_job(&g);
}

// An update of all instances, in the middle of which others come, so many that nobody comes by its number
// who asks what has changed since the last one. That one's number.
static uint64_t update_around_a_label(uint64_t *ret_update, size_t *ret_updated) {
        uint64_t job = 0;

        (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", ONE);
        rig_settle(&g);
        for (unsigned i = 1; i <= INSTANCES; i++) {
                (void) rig_change(&g, ARGOSY__VERB__VERB_START, instance(i), NULL);
                rig_settle(&g);
        }
        (void) rig_rollout(&g, (RigRollout){ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "w@.service", TWO,
                                            .max = 1, .health_ms = 2000});
        *ret_update = rig_last_job(&g);
        while (n_updated() < 2)
                rig_pass_ms(&g, 100);
        *ret_updated = n_updated();
        assert_in_range(*ret_updated, 2, INSTANCES - 1);
        for (unsigned i = 0; i < LEADER_LIMIT_jobs_looked; i++)
                job = label(i % 2 ? "b" : "c");
        assert_int_equal(n_updated(), *ret_updated);
        while (n_updated() < INSTANCES)
                rig_pass_ms(&g, 100);
        rig_pass_ms(&g, 5000);
        assert_int_equal(rig_last_job(&g), job);
        return job;
}

// Those that have another file at the end, and in *ret_settings the labels and other settings.
static size_t count_files(uint64_t from, uint64_t to, bool backwards, size_t *ret_settings) {
        Argosy__Request__ListJobs list;
        Argosy__Request request;
        JobChanges changes = {};
        JobDifference d;
        size_t n = 0;

        job_changes_begin(&changes, NULL, to > 0 ? MIN_OF(from, to) : from, to > 0 ? MAX_OF(from, to) : 0);
        while (job_changes_next(&changes, &request, &list)) {
                RigAnswer *a = rig_ask(&g, &request);

                assert_final(a, 0);
                assert_int_equal(job_changes_take(&changes, rig_last(a)), 0);
        }
        assert_int_equal(job_difference(&changes, from, to, &d), 0);
        assert_false(d.incomplete);
        for (size_t i = 0; i < d.n_units; i++) {
                const Hash now = hash_of(backwards ? ONE : TWO, strlen(TWO));
                char hex[HASH_HEX_SIZE];

                hash_hex(&now, HASH_SIZE, hex);
                n += !streq(d.units[i]->before.rev, d.units[i]->after.rev) &&
                     strchr(d.units[i]->unit, '@')[1] != '.';
                if (!streq(d.units[i]->before.rev, d.units[i]->after.rev))
                        assert_string_equal(d.units[i]->after.rev, hex);
        }
        *ret_settings = d.n_settings;
        job_difference_done(&d);
        job_changes_done(&changes);
        return n;
}

static void what_an_update_changes_behind_another_job_counts_behind_it(void **state) {
        size_t updated, settings;
        uint64_t update, job;

        job = update_around_a_label(&update, &updated);
        assert_int_equal(count_files(job, 0, false, &settings), INSTANCES - updated);
        assert_int_equal(settings, 0);
        assert_int_equal(count_files(update - 1, job, false, &settings), updated);
        assert_int_equal(settings, 1);
        assert_int_equal(count_files(update - 1, 0, false, &settings), INSTANCES);
        assert_int_equal(settings, 1);
}

// It is not the greater number that was done last.
static void an_update_is_done_when_it_has_changed_the_last_unit(void **state) {
        size_t updated, settings;
        uint64_t update, job;

        job = update_around_a_label(&update, &updated);
        assert_int_equal(count_files(update, 0, false, &settings), 0);
        assert_int_equal(settings, 0);
        assert_int_equal(count_files(job, update, false, &settings), INSTANCES - updated);
        assert_int_equal(settings, 0);
        assert_int_equal(count_files(update, job, true, &settings), INSTANCES - updated);
        assert_int_equal(settings, 0);
        assert_int_equal(count_files(update - 1, update, false, &settings), INSTANCES);
        assert_int_equal(settings, 1); // the label came meanwhile
        (void) label("c");
        assert_int_equal(count_files(update, 0, false, &settings), 0);
        assert_int_equal(settings, 1);
}

RUN_TESTS(
        RIG_TEST(what_an_update_changes_behind_another_job_counts_behind_it),
        RIG_TEST(an_update_is_done_when_it_has_changed_the_last_unit)
)
