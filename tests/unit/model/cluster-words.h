// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A ClusterState that batches are applied to. Shared by the tests of its facets.

#include "test.h"

#include "batch.h"
#include "buf.h"
#include "cluster-state.h"

#define WEB "[Service]\nExecStart=/bin/web\n"
#define WEB2 "[Service]\nExecStart=/bin/web2\n"

static struct {
        ClusterState *s;
        Batch b; // empty when a test begins, and once it was applied
} g;

static inline int make_state(void **state) {
        g.s = *state = cluster_state_new();
        return g.s ? 0 : -1;
}

static inline int free_state(void **state) {
        batch_done(&g.b);
        g.s = cluster_state_free(g.s);
        return 0;
}

static inline void apply(ClusterState *s, Batch *b) {
        assert_int_equal(cluster_state_apply(s, &b->log), 0);
        batch_done(b);
}

// And it says the same then.
static inline void pass_through_image(ClusterState *s) {
        _cleanup_buf_ Buf image = {}, again = {};

        assert_int_equal(cluster_state_encode(s, &image), 0);
        assert_int_equal(cluster_state_restore(s, image.data, image.len), 0);
        assert_int_equal(cluster_state_encode(s, &again), 0);
        assert_int_equal(again.len, image.len);
        assert_memory_equal(again.data, image.data, image.len);
}

static inline Argosy__UnitRecord *unit(ClusterState *s, const char *name) {
        UnitEntry *u = cluster_state_find_unit(s, name);

        assert_non_null(u);
        return u->record;
}

static inline size_t units_on(ClusterState *s, uint32_t node) {
        size_t n;

        cluster_state_units_on(s, node, &n);
        return n;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_state, free_state)
