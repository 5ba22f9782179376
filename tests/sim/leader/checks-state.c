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

void voters_on_entry(void) {
        Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, world.rig.entry_len, world.rig.entry);

        assert_non_null(batch);
        assert_int_equal(cluster_state_apply(follower, batch), 0);
        message_free(batch);
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

// ------------------------------------------------------------------------------------------------ answers

// An answer with a job names one that the log has.
void acknowledged_on_settled(void) {
        for (size_t i = 0; i < world.n_asked; i++) {
                WorldAsked *a = &world.asked[i];

                for (; a->n_seen < a->answer->n; a->n_seen++) {
                        const Argosy__Response *r = a->answer->responses[a->n_seen];

                        if (r->status != 0 || r->job == 0)
                                continue;
                        check_says("acknowledged-is-kept");
                        if (r->job > cluster_state_last_job(world.rig.state))
                                check_fail("acknowledged-is-kept", "request %zu was answered with job %" PRIu64 ", and the log has none", i + 1, r->job);
                }
        }
}
