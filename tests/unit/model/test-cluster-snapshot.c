// SPDX-License-Identifier: LGPL-2.1-or-later

// Snapshots of the replicated state: who shares one, how many there may be, when what they held is freed,
// and that a thread may encode one while batches are applied. That each has the image of its moment is in
// test-cluster-state-random.c.

#include "printed.h"
#include "test.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>

#include "batch.h"
#include "cluster-encoder.h"
#include "cluster-snapshot.h"
#include "str.h"

enum { UNITS = 6000, ROUNDS = 40, ENCODINGS = 6 };

static const char content[] = "[Service]\nExecStart=/bin/true\n";

static void apply(ClusterState *s, Batch *b) {
        assert_int_equal(cluster_state_apply(s, &b->log), 0);
        cluster_state_drop_dirty(s);
        batch_done(b);
}

static const char *name_of(unsigned i) {
        static char name[32];

        snprintf(name, sizeof name, "u%05u.service", i * 7919 % UNITS);
        return name;
}

static void put_units(ClusterState *s, unsigned from, unsigned n) {
        Batch b = {0};
        Hash spec = batch_spec(&b, content);

        for (unsigned i = from; i < from + n; i++)
                batch_unit_only(&b, name_of(i), &spec,
                                (UnitPut){.target = LAUNCHED, .node = 1, .start = i % 3 == 0});
        apply(s, &b);
}

static ClusterState *make_state(void) {
        ClusterState *s = cluster_state_new();
        Batch b = {0};

        assert_non_null(s);
        batch_host(&b, 0, "one", 2);
        batch_host(&b, 0, "two", 1);
        apply(s, &b);
        put_units(s, 0, UNITS);
        return s;
}

// Something of everything that a snapshot reaches.
static void change_everything(ClusterState *s, unsigned round) {
        uint32_t nodes[] = {1, 2, 3};
        Batch b = {0};
        batch_unit(&b, name_of(round), printed("[Unit]\n# %u\n", round),
                   (UnitPut){.target = LAUNCHED, .node = 2, .start = true});
        batch_unit(&b, "everywhere.service", content, (UnitPut){.target = LAUNCHED, .global = true});
        batch_unit_remove_from(&b, name_of(round + 1000), nodes, 3, 0);
        batch_tombstone(&b, name_of(round % 5), nodes, 3, 10 + round);
        batch_token(&b, name_of(round), UINT64_MAX);
        batch_request(&b, (uint8_t) round);
        batch_cluster(&b, 1);
        Argosy__HostRecord *h = batch_host(&b, 2, "two", 1);
        h->nodes[0]->node = 3;
        apply(s, &b);
        batch_outcome(&b, "everywhere.service", 1 + round % 3,
                      cluster_state_find_unit(s, "everywhere.service")->record->start_rev,
                      ARGOSY__OUTCOME__KIND__DONE);
        apply(s, &b);
        put_units(s, round * 100, 100);
}

static void encode(const ClusterSnapshot *snapshot, Buf *ret) {
        _cleanup_(cluster_encoder_freep) ClusterEncoder *e = cluster_encoder_new(snapshot);
        int r;

        assert_non_null(e);
        while ((r = cluster_encoder_next(e, ret)) == CLUSTER_ENCODER_MORE)
                continue;
        assert_int_equal(r, 0);
}

// ---- a reader in a thread

typedef struct Reader {
        const ClusterSnapshot *snapshot;
        const Buf *expected;
        bool same;
} Reader;

static void *read_again_and_again(void *userdata) {
        Reader *r = userdata;

        r->same = true;
        for (int i = 0; i < ENCODINGS; i++) {
                _cleanup_buf_ Buf image = {0};

                encode(r->snapshot, &image);
                r->same &= image.len == r->expected->len &&
                           memcmp(image.data, r->expected->data, image.len) == 0;
        }
        return NULL;
}

static void a_thread_encodes_while_batches_are_applied(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *s = make_state();
        _cleanup_buf_ Buf expected = {0};
        ClusterSnapshot *snapshot;
        pthread_t thread;

        change_everything(s, 0);
        assert_int_equal(cluster_state_snapshot(s, &snapshot), 0);
        assert_int_equal(cluster_state_encode(s, &expected), 0);
        Reader reader = (Reader){.snapshot = snapshot, .expected = &expected};
        assert_int_equal(pthread_create(&thread, NULL, read_again_and_again, &reader), 0);
        for (unsigned i = 1; i < ROUNDS; i++) {
                change_everything(s, i);
                (void) cluster_state_reclaim(s);
        }
        assert_int_equal(cluster_state_restore(s, NULL, 0), 0); // all at once
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(reader.same);
        cluster_snapshot_unref(snapshot);
        while (cluster_state_reclaim(s))
                continue;
}

// ---- sharing and limits

static void who_asks_in_the_same_version_gets_the_same(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *s = make_state();
        ClusterSnapshot *a, *b, *c;

        assert_int_equal(cluster_state_snapshot(s, &a), 0);
        assert_int_equal(cluster_state_snapshot(s, &b), 0);
        assert_ptr_equal(a, b);
        put_units(s, 0, 1);
        assert_int_equal(cluster_state_snapshot(s, &c), 0);
        assert_ptr_not_equal(a, c);
        cluster_snapshot_unref(c);
        assert_int_equal(cluster_state_snapshot(s, &c), 0); // the newest may have ended
        cluster_snapshot_unref(a);
        cluster_snapshot_unref(b);
        cluster_snapshot_unref(c);
}

static void the_ninth_is_refused(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *s = make_state();
        ClusterSnapshot *snapshots[CLUSTER_SNAPSHOTS_MAX], *one_more;

        for (unsigned i = 0; i < CLUSTER_SNAPSHOTS_MAX; i++) {
                assert_int_equal(cluster_state_snapshot(s, &snapshots[i]), 0);
                put_units(s, i, 1);
        }
        assert_int_equal(cluster_state_snapshot(s, &one_more), -EBUSY);
        cluster_snapshot_unref(snapshots[0]);
        assert_int_equal(cluster_state_snapshot(s, &snapshots[0]), 0);
        for (unsigned i = 0; i < CLUSTER_SNAPSHOTS_MAX; i++)
                cluster_snapshot_unref(snapshots[i]);
}

// Restoring replaces all at once; what was there is freed in turns like everything else.
static void what_was_held_is_freed_in_turns(void **state) {
        _cleanup_(cluster_state_freep) ClusterState *s = make_state();
        ClusterSnapshot *snapshot;
        unsigned turns = 0;

        assert_int_equal(cluster_state_snapshot(s, &snapshot), 0);
        assert_int_equal(cluster_state_restore(s, NULL, 0), 0);
        assert_false(cluster_state_reclaim(s));
        assert_false(cluster_snapshot_is_cut(snapshot));
        cluster_snapshot_unref(snapshot);
        while (cluster_state_reclaim(s))
                turns++;
        assert_in_range(turns, UNITS / SNAPSHOT_RECLAIM_STEP, 3 * UNITS / SNAPSHOT_RECLAIM_STEP);
}

// ---- what they cost whoever takes none

// 369 without the table of records, a tenth more, and 8 for the order of names
enum { MANY_UNITS = 100000, UNIT_BYTES_MAX = 414 };

static void put_many(ClusterState *s, unsigned n) {
        Hash spec = hash_of(content, strlen(content));

        for (unsigned i = 0; i < n; i += 100) {
                Batch b = {0};

                for (unsigned k = i; k < i + 100; k++) {
                        batch_unit_only(&b, printed("web-%07u.service", k), &spec,
                                        (UnitPut){.target = LAUNCHED, .start = true});
                }
                apply(s, &b);
        }
}

// Under a sanitizer, whose heap does not say what is in use, nothing is asserted.
static void a_unit_at_rest_costs_little_more(void **state) {
        size_t before = mallinfo2().uordblks + mallinfo2().hblkhd, bytes;
        _cleanup_(cluster_state_freep) ClusterState *s = cluster_state_new();
        Batch b = {0};

        batch_unit(&b, "first.service", content, (UnitPut){.target = LOADED});
        apply(s, &b);
        put_many(s, MANY_UNITS);
        bytes = (mallinfo2().uordblks + mallinfo2().hblkhd - before) / MANY_UNITS;
        print_message("%zu bytes a unit\n", bytes);
        assert_true(bytes <= UNIT_BYTES_MAX);
}

RUN_TESTS(
        cmocka_unit_test(a_thread_encodes_while_batches_are_applied),
        cmocka_unit_test(who_asks_in_the_same_version_gets_the_same),
        cmocka_unit_test(the_ninth_is_refused),
        cmocka_unit_test(what_was_held_is_freed_in_turns),
        cmocka_unit_test(a_unit_at_rest_costs_little_more)
)
