// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of the log and the state that follows from it.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "message.h"
#include "request-kind.h"
#include "test.h"

// ------------------------------------------------------------------------------------------------ another voter

// Another voter, which hears of nothing but the log; and one that begins with an image of the first.
static ClusterState *follower;

void voters_begin(void) {
        _cleanup_buf_ Buf image = {};

        follower = cluster_state_new();
        assert_non_null(follower);
        assert_int_equal(cluster_state_encode(world.rig.state, &image), 0);
        assert_int_equal(cluster_state_restore(follower, image.data, image.len), 0);
}

void voters_on_entry(const Argosy__LogBatch *batch) {
        assert_int_equal(cluster_state_apply(follower, batch), 0);
        check_says("voters-are-equal");
}

static void assert_equal_images(const Buf *a, const Buf *b, const char *which) {
        if (a->len != b->len || memcmp(a->data, b->data, a->len) != 0)
                check_fail("voters-are-equal", "the state of %s is another one", which);
}

void voters_on_calm(void) {
        _cleanup_buf_ Buf image = {}, other = {}, restored = {};

        assert_int_equal(cluster_state_encode(world.rig.state, &image), 0);
        assert_int_equal(cluster_state_encode(follower, &other), 0);
        assert_equal_images(&image, &other, "a follower");
        cluster_state_free(follower);
        follower = cluster_state_new();
        assert_int_equal(cluster_state_restore(follower, image.data, image.len), 0);
        assert_int_equal(cluster_state_encode(follower, &restored), 0);
        assert_equal_images(&image, &restored, "one that begins with an image");
}

void voters_end(void) {
        cluster_state_free(follower);
        follower = NULL;
}

// ------------------------------------------------------------------------------------------------ counters

static bool sets_time(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++)
                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_TIME_SET)
                        return true;
        return false;
}

// What the entry touched of units has revisions that are newer than all before it.
static void units_only_grow(uint64_t before) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                const LogUnit *u = &log_truth.units[t->unit];

                if (!u->exists)
                        continue;
                if (u->revision <= before || u->start_rev > u->revision || u->restart_rev > u->revision || u->stop_rev > u->revision)
                        check_fail("counters-only-grow", "%s has revision %" PRIu64 ", and the entry began at %" PRIu64, world.units[t->unit].name,
                                   u->revision, before);
                if (t->before.exists && (u->start_rev < t->before.start_rev || u->restart_rev < t->before.restart_rev || u->stop_rev < t->before.stop_rev))
                        check_fail("counters-only-grow", "a revision of %s has gone back", world.units[t->unit].name);
        }
}

void counters_on_entry(const Argosy__LogBatch *batch) {
        uint64_t revision = cluster_state_revision(world.rig.state), time_us = cluster_state_time_us(world.rig.state);

        if (revision < log_truth.revision)
                check_fail("counters-only-grow", "the revision goes back from %" PRIu64 " to %" PRIu64, log_truth.revision, revision);
        if (time_us < log_truth.time_us && !sets_time(batch))
                check_fail("counters-only-grow", "the log's time goes back by %" PRIu64 " us", log_truth.time_us - time_us);
        units_only_grow(log_truth.revision);
        if (revision > log_truth.revision)
                check_says("counters-only-grow");
        log_truth.revision = revision;
        log_truth.time_us = time_us;
}

// ------------------------------------------------------------------------------------------------ limits

enum { ENTRY_UNITS_MAX = 384 }; // that one entry touches, since each voter applies it in one turn

void limits_on_entry(const Argosy__LogBatch *batch) {
        size_t n_stored, bytes = world.rig.entry_len, n_units = 0;
        size_t max = world.rig.batch_max ? world.rig.batch_max : STORE_BATCH_MAX;

        for (size_t i = 0; i < batch->n_ops; i++)
                n_units += batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_UNIT || batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_UNIT_REMOVE;
        if (batch->n_ops == 0)
                check_fail("entry-within-limits", "an entry does nothing");
        if (bytes > max)
                check_fail("entry-within-limits", "an entry has %zu bytes, of %zu", bytes, max);
        if (n_units > ENTRY_UNITS_MAX)
                check_fail("entry-within-limits", "an entry puts %zu units", n_units);
        (void) cluster_state_stored_requests(world.rig.state, &n_stored);
        if (n_stored > CLUSTER_STORED_REQUESTS_MAX || cluster_state_jobs_bytes(world.rig.state) > cluster_state_history_bytes(world.rig.state))
                check_fail("entry-within-limits", "the log keeps more of jobs than it may");
        if (cluster_state_figures(world.rig.state).state_operations_refused > 0)
                check_fail("entry-within-limits", "an operation of an entry was refused by whoever applies it");
        if (batch->n_ops > 1)
                check_says("entry-within-limits");
}
