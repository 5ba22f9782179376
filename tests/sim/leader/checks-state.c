// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of the log and the state that follows from it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks-private.h"
#include "message.h"
#include "request-kind.h"
#include "test.h"

// -------------------------------------------------------------------------------------------- another voter

// Another voter, which hears of nothing but the log; and one that begins with an image of the first.
static ClusterState *follower;
// The dates of entries only rise: so what is kept of jobs says which of them came last.
static bool dates_rise;
static uint64_t dated_us;

void voters_begin(void) {
        _cleanup_buf_ Buf image = {};

        follower = cluster_state_new();
        dates_rise = true;
        dated_us = 0;
        assert_non_null(follower);
        assert_int_equal(cluster_state_encode(world.rig.state, &image), 0);
        assert_int_equal(cluster_state_restore(follower, image.data, image.len), 0);
}

void voters_on_entry(const Argosy__LogBatch *batch) {
        assert_int_equal(cluster_state_apply(follower, batch), 0);
        dates_rise &= batch->at_us >= dated_us;
        dated_us = batch->at_us;
        check_says("voters-are-equal");
}

static void assert_equal_images(const Buf *a, const Buf *b, const char *which) {
        if (a->len != b->len || memcmp(a->data, b->data, a->len) != 0)
                check_fail("voters-are-equal", "the state of %s is another one", which);
}

// By which job a unit was moved last an image says by dates; so only if these differ. Of one that is not
// kept any more only whoever has seen it knows what it was about.
static void know_the_same_moves(void) {
        for (unsigned i = 0; i < asks.n_units && dates_rise && cluster_state_first_job(follower) <= 1; i++) {
                const OwnMove *grown = cluster_state_own_move_of(world.rig.state, asks.units[i].name),
                              *restored = cluster_state_own_move_of(follower, asks.units[i].name);

                if (grown && restored && grown->at_us != restored->at_us)
                        check_fail("image-knows-the-same",
                                   "who was made from an image says that job %" PRIu64
                                   " has moved %s last, and the other %" PRIu64,
                                   restored->job, asks.units[i].name, grown->job);
        }
}

// What follows from the records, and is kept beside them.
static void know_the_same(void) {
        _cleanup_free_ char *grown = state_read(world.rig.state), *restored = state_read(follower);
        const char *of_grown, *of_restored;

        check_says("image-knows-the-same");
        if (check_texts_differ(grown, restored, &of_grown, &of_restored))
                check_fail("image-knows-the-same",
                           "who was made from an image says '%.200s', and the other '%.200s'", of_restored,
                           of_grown);
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
        know_the_same();
        know_the_same_moves();
}

void voters_end(void) {
        cluster_state_free(follower);
        follower = NULL;
}

// ------------------------------------------------------------------------------------------------ limits

enum { ENTRY_UNITS_MAX = 384 }; // that one entry touches, since each voter applies it in one turn

// What it costs to put a unit, of two halves: one that is to be no more than known gets no node and no
// order.
static unsigned cost_of(const Argosy__LogOp *op) {
        if (op->op_case == ARGOSY__LOG_OP__OP_UNIT_REMOVE)
                return 2;
        if (op->op_case != ARGOSY__LOG_OP__OP_UNIT)
                return 0;
        return op->unit->unit->target == ARGOSY__TARGET__TARGET_INACTIVE && op->unit->unit->node == 0 ? 1
                                                                                                      : 2;
}

void limits_on_entry(const Argosy__LogBatch *batch) {
        size_t n_stored, bytes = world.rig.entry_len, cost = 0;
        size_t max = world.rig.batch_max ? world.rig.batch_max : STORE_BATCH_MAX;

        for (size_t i = 0; i < batch->n_ops; i++)
                cost += cost_of(batch->ops[i]);
        if (batch->n_ops == 0)
                check_fail("entry-within-limits", "an entry does nothing");
        if (bytes > max)
                check_fail("entry-within-limits", "an entry has %zu bytes, of %zu", bytes, max);
        if (cost > 2 * ENTRY_UNITS_MAX)
                check_fail("entry-within-limits", "an entry puts as many units as cost %zu halves", cost);
        (void) cluster_state_stored_requests(world.rig.state, &n_stored);
        if (n_stored > CLUSTER_STORED_REQUESTS_MAX ||
            cluster_state_jobs_bytes(world.rig.state) > cluster_state_history_bytes(world.rig.state))
                check_fail("entry-within-limits", "the log keeps more of jobs than it may");
        if (cluster_state_figures(world.rig.state).state_operations_refused > 0)
                check_fail("entry-within-limits",
                           "an operation of an entry was refused by whoever applies it");
        if (batch->n_ops > 1)
                check_says("entry-within-limits");
}
