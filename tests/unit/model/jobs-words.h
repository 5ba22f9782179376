// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Jobs in the state of the log: entries that make, end and find them.

#include "cluster-words.h"

#include "cluster-encoder.h"
#include "cluster-snapshot.h"
#include "feature-level.h"
#include "message.h"
#include "messages.h"

static inline Argosy__JobRecord *job(ClusterState *s, uint64_t number) {
        Argosy__JobRecord *record;

        assert_int_equal(cluster_state_read_job(s, number, &record), 0);
        return record;
}

static inline void assert_same_image(const ClusterState *a, const ClusterState *b) {
        _cleanup_buf_ Buf image_a = {}, image_b = {};

        assert_int_equal(cluster_state_encode(a, &image_a), 0);
        assert_int_equal(cluster_state_encode(b, &image_b), 0);
        assert_int_equal(image_a.len, image_b.len);
        assert_memory_equal(image_a.data, image_b.data, image_a.len);
}

// A cluster whose log may contain jobs.
static inline void begin(ClusterState *s, uint64_t at_us) {
        Batch b = {};

        batch_cluster(&b, 1);
        b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
        batch_set_time(&b, s, at_us);
        apply(s, &b);
}

// And nothing of it is to be told any more.
static inline void begin_clean(ClusterState *s, uint64_t at_us) {
        begin(s, at_us);
        cluster_state_drop_dirty(s);
}

static inline void make_id(uint8_t ret[16], uint64_t number) {
        memset(ret, 0, 16);
        memcpy(ret, &number, sizeof number);
}

static inline void put_jobs(ClusterState *s, size_t n, uint64_t at_us, const char *reason) {
        Batch b = {};

        argosy__log_batch__init(&b.log);
        for (size_t i = 0; i < n; i++)
                batch_job(&b, (JobPut){.verb = "start"})->reason = (char *) reason;
        batch_set_time(&b, s, at_us);
        apply(s, &b);
}
