// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the log's snapshot costs whoever waits for the loop: a replicated state of a million units behind a
// log with one member, which goes on taking batches while the snapshot is taken, encoded, written and what
// it held is given back. A turn's CPU time is the loop thread's between two sleeps. The baseline of the
// longest turn is what encoding would take in one. With the allocator of the daemon.

#include "test.h"

#include <time.h>

#include "batch.h"
#include "cluster-encoder.h"
#include "cluster-snapshot.h"
#include "raft-store.h"
#include "store-node.h"
#include "uvx.h"

enum {
        UNITS = 1000000,
        PER_BATCH = 100, // units that one batch changes
        IN_FLIGHT = 2,   // batches: the load's own turns are to be short
};

static const char content[] = "[Service]\nExecStart=/bin/sleep infinity\n";

static uint64_t clock_us(clockid_t clock) {
        struct timespec t;

        clock_gettime(clock, &t);
        return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

static void emit(const char *metric, double value, double baseline, const char *unit) {
        printf("{\"bench\": \"snapshot-1m\", \"metric\": \"%s\", \"value\": %.1f, ", metric, value);
        if (baseline > 0)
                printf("\"baseline\": %.1f, \"ratio\": %.4f, ", baseline, value / baseline);
        printf("\"unit\": \"%s\"}\n", unit);
        fflush(stdout);
}

typedef struct Bench {
        uv_loop_t loop;
        char dir[256];
        Store *store;
        ClusterState *state;
        bool leading, closed;

        Hash spec;
        unsigned next_unit, in_flight;

        // The snapshot; in the worker's hands while it encodes.
        ClusterSnapshot *snapshot;
        ClusterEncoder *encoder;
        uint64_t take_us, pool_us;
        bool released, reclaimed;
        Drain drain;

        uv_prepare_t prepare;
        uint64_t turn_began_us, longest_us;
        unsigned n_turns;
} Bench;

static Bench b;

// ---- the state

static void put_unit(Batch *batch, unsigned i) {
        char name[32];

        snprintf(name, sizeof(name), "u-%07u.service", i);
        (void) batch_unit_only(batch, name, &b.spec,
                               (UnitPut){.target = LAUNCHED, .node = 1, .start = true});
}

static void make_state(void) {
        b.state = cluster_state_new();
        b.spec = hash_of(content, sizeof(content) - 1);
        for (unsigned i = 0; i < UNITS; i += PER_BATCH) {
                _cleanup_(batch_done) Batch batch = {0};

                if (i == 0) {
                        batch_host(&batch, 0, "one", 1);
                        (void) batch_spec(&batch, content);
                }
                for (unsigned k = i; k < i + PER_BATCH; k++)
                        put_unit(&batch, k);
                assert_int_equal(cluster_state_apply(b.state, &batch.log), 0);
                cluster_state_drop_dirty(b.state);
        }
}

// ---- StoreOps

static int on_apply(uint64_t index, const uint8_t *data, size_t len, void *userdata) {
        Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, len, data);

        assert_non_null(batch);
        assert_int_equal(cluster_state_apply(b.state, batch), 0);
        argosy__log_batch__free_unpacked(batch, NULL);
        cluster_state_drop_dirty(b.state);
        return 0;
}

static int on_snapshot(void **ret, void *userdata) {
        uint64_t begin = clock_us(CLOCK_MONOTONIC);

        if (b.released)
                return -EBUSY; // one is enough
        assert_int_equal(cluster_state_snapshot(b.state, &b.snapshot), 0);
        b.encoder = cluster_encoder_new(b.snapshot);
        b.take_us = clock_us(CLOCK_MONOTONIC) - begin;
        *ret = &b;
        return 0;
}

static int on_snapshot_encode(void *snapshot, Buf *ret) {
        uint64_t begin = clock_us(CLOCK_THREAD_CPUTIME_ID);
        int r = cluster_encoder_next(b.encoder, ret);

        b.pool_us += clock_us(CLOCK_THREAD_CPUTIME_ID) - begin;
        return r;
}

static void on_snapshot_release(void *snapshot, void *userdata) {
        cluster_encoder_free(b.encoder);
        cluster_snapshot_unref(b.snapshot);
        b.released = true;
        drain_mark(&b.drain);
}

static void on_drain(void *userdata) {
        if (cluster_state_reclaim(b.state))
                drain_mark(&b.drain);
        else
                b.reclaimed = b.released;
}

static int on_restore(const uint8_t *data, size_t len, void *userdata) {
        return cluster_state_restore(b.state, data, len);
}

static void on_role(StoreRole role, StoreLeader leader, void *userdata) {
        b.leading = role == STORE_LEADER;
}

static void on_fatal(const char *why, void *userdata) {
        fail_msg("%s", why);
}

static bool on_resolve(uint32_t raft_id, char *ret_address, size_t size, uint16_t *ret_port, Hash *ret_pin,
                       void *userdata) {
        return false;
}

static const StoreOps ops = {
        .apply = on_apply,
        .snapshot = on_snapshot,
        .snapshot_encode = on_snapshot_encode,
        .snapshot_release = on_snapshot_release,
        .restore = on_restore,
        .role = on_role,
        .fatal = on_fatal,
        .resolve = on_resolve,
};

// ---- load

static void submit(void);

static void on_done(StoreOutcome outcome, uint64_t index, void *userdata) {
        assert_int_equal(outcome, STORE_COMMITTED);
        b.in_flight--;
        if (!b.reclaimed)
                submit();
}

// Units all over the tables, as names come.
static void submit(void) {
        while (b.in_flight < IN_FLIGHT) {
                _cleanup_(batch_done) Batch batch = {0};
                _cleanup_free_ uint8_t *packed = NULL;
                size_t len;

                for (unsigned i = 0; i < PER_BATCH; i++, b.next_unit = (b.next_unit + 7919) % UNITS)
                        put_unit(&batch, b.next_unit);
                len = argosy__log_batch__get_packed_size(&batch.log);
                packed = malloc(len);
                argosy__log_batch__pack(&batch.log, packed);
                assert_int_equal(store_submit(b.store, packed, len, on_done, NULL), 0);
                b.in_flight++;
        }
}

static void on_prepare(uv_prepare_t *prepare) {
        uint64_t now = clock_us(CLOCK_THREAD_CPUTIME_ID);

        if (b.turn_began_us > 0)
                b.longest_us = MAX_OF(b.longest_us, now - b.turn_began_us);
        b.turn_began_us = now;
        b.n_turns++;
}

static bool leads(void *userdata) {
        return b.leading;
}

// Also written, and all is answered.
static bool is_over(void *userdata) {
        return b.reclaimed && b.in_flight == 0 && !raft_store(b.store)->taking;
}

static void on_closed(void *userdata) {
        b.closed = true;
}

static bool is_closed(void *userdata) {
        return b.closed;
}

static void open_store(bool bootstrap) {
        StoreConfig config = {.loop = &b.loop, .dir = b.dir, .raft_id = 1, .bootstrap = bootstrap};
        char *why = NULL;

        b.leading = false;
        if (store_open(&config, &ops, NULL, &b.store, &why) < 0)
                fail_msg("%s", why ?: "?");
        store_run_until(&b.loop, leads, NULL, STORE_PATIENCE_MS, "leader");
}

static void close_store(void) {
        b.closed = false;
        store_close(TAKE_PTR(b.store), on_closed, NULL);
        store_run_until(&b.loop, is_closed, NULL, STORE_PATIENCE_MS, "close");
}

static double encode_in_one_turn_ms(void) {
        _cleanup_buf_ Buf image = {0};
        uint64_t begin = clock_us(CLOCK_THREAD_CPUTIME_ID);

        assert_int_equal(cluster_state_encode(b.state, &image), 0);
        emit("bytes", (double) image.len / 1e6, 0, "MB");
        return (double) (clock_us(CLOCK_THREAD_CPUTIME_ID) - begin) / 1000;
}

static void a_million_units(void **state) {
        double in_one_turn_ms;
        uint64_t begin;

        make_state();
        in_one_turn_ms = encode_in_one_turn_ms();
        assert_int_equal(uv_loop_init(&b.loop), 0);
        assert_int_equal(drain_init(&b.drain, &b.loop, on_drain, NULL), 0);
        store_dir_make(b.dir, sizeof(b.dir));
        open_store(true);
        uv_prepare_init(&b.loop, &b.prepare);
        uv_prepare_start(&b.prepare, on_prepare);
        submit();
        store_run_until(&b.loop, is_over, NULL, 10 * STORE_PATIENCE_MS, "snapshot");
        uv_close((uv_handle_t *) &b.prepare, NULL);
        emit("turn", (double) b.longest_us / 1000, in_one_turn_ms, "ms");
        emit("take", (double) b.take_us, 0, "us");
        emit("pool", (double) b.pool_us / 1000, 0, "ms");

        close_store();
        b.state = cluster_state_free(b.state);
        b.state = cluster_state_new();
        begin = clock_us(CLOCK_MONOTONIC);
        open_store(false);
        emit("restore", (double) (clock_us(CLOCK_MONOTONIC) - begin) / 1000, 0, "ms");
        assert_int_equal(cluster_state_n_units(b.state), UNITS);
        close_store();
        drain_close(&b.drain, NULL);
        uv_run(&b.loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&b.loop), 0);
        cluster_state_free(b.state);
        store_dir_remove(b.dir);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(a_million_units)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
