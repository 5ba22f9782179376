// SPDX-License-Identifier: LGPL-2.1-or-later

// Guard 21: what libraft refuses since most voters have little room for the moment waits; a full disk is
// told from that by how long it lasts.

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "macro.h"
#include "raft-store.h"
#include "store-cluster.h"

// What libraft calls to make a segment.
static _Atomic bool no_segments;
int allocate_segment(int fd, off_t offset, off_t len) __asm__("posix_fallocate");
_public_ int allocate_segment(int fd, off_t offset, off_t len) {
        if (no_segments && len >= 1024 * 1024)
                return EIO;
        return posix_fallocate64(fd, offset, len);
}

static bool asks_for_it(void *userdata) {
        const RaftStore *s = raft_store(((StoreNode *) userdata)->store);

        return s->role == STORE_LEADER && s->raft.capacity_threshold == s->room_kib;
}

// As if all voters had less room than is asked for, or enough.
static void set_room(StoreCluster *c, bool enough) {
        for (int i = 0; i < STORE_CLUSTER_MAX; i++)
                if (c->servers[i].node.store)
                        raft_store(c->servers[i].node.store)->room_kib = enough ? 1 : USHRT_MAX;
        store_run_until(&c->loop, asks_for_it, store_cluster_leader(c), STORE_PATIENCE_MS,
                        "that room counts");
}

static void guard_21_what_finds_no_room_for_a_moment_is_taken_later(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c);
        StoreAnswer a = {}, b = {}, barrier = {};

        store_cluster_write(c, 1, 100);
        uint64_t applied = leader->n_applied;
        set_room(c, false);
        assert_int_equal(store_submit(leader->store, "a", 1, store_on_done, &a), 0);
        assert_int_equal(store_barrier(leader->store, store_on_done, &barrier), 0);
        assert_int_equal(store_submit(leader->store, "b", 1, store_on_done, &b), 0);
        store_run_for(&c->loop, 500); // shorter than a full disk is waited for
        assert_int_equal(a.n + b.n + barrier.n, 0);
        assert_int_equal(leader->n_applied, applied);
        set_room(c, true);
        store_run_until(&c->loop, store_is_answered, &b, STORE_PATIENCE_MS, "the second batch");
        store_run_until(&c->loop, store_is_answered, &barrier, STORE_PATIENCE_MS, "the barrier");
        assert_int_equal(a.n, 1);
        assert_int_equal(a.outcome, STORE_COMMITTED);
        assert_int_equal(b.outcome, STORE_COMMITTED);
        assert_int_equal(barrier.outcome, STORE_COMMITTED);
        assert_true(a.index < b.index); // as they were submitted
        assert_int_equal(leader->n_applied, applied + 2);
        store_cluster_agree(c);
}

// What comes while others wait stands behind them, though there is room again.
static void what_comes_later_does_not_overtake(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *n = &c->servers[0].node;
        StoreAnswer a = {}, b = {};

        set_room(c, false);
        assert_int_equal(store_submit(n->store, "a", 1, store_on_done, &a), 0);
        raft_set_capacity_threshold(&raft_store(n->store)->raft, 0);
        assert_int_equal(store_submit(n->store, "b", 1, store_on_done, &b), 0);
        set_room(c, true);
        store_run_until(&c->loop, store_is_answered, &b, STORE_PATIENCE_MS, "the second batch");
        assert_int_equal(a.n, 1);
        assert_true(a.index < b.index);
}

static unsigned count_without_room(const StoreNode *n) {
        StoreStats stats;
        unsigned count = 0;

        store_stats(n->store, &stats);
        for (size_t i = 0; i < stats.n_members; i++)
                count += stats.members[i].lacks_room;
        return count;
}

static void what_finds_no_room_for_seconds_is_refused_and_the_next_at_once(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c);
        StoreAnswer a = {}, barrier = {}, again = {};
        uint64_t since = uv_now(&c->loop);

        assert_int_equal(count_without_room(leader), 0);
        set_room(c, false);
        assert_int_equal(store_submit(leader->store, "a", 1, store_on_done, &a), 0);
        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "a refusal");
        assert_int_equal(a.outcome, STORE_NO_SPACE);
        assert_true(uv_now(&c->loop) - since >= STORE_FULL_MS);
        assert_int_equal(count_without_room(leader), 3);

        assert_int_equal(store_submit(leader->store, "b", 1, store_on_done, &a), -ENOSPC);
        since = uv_now(&c->loop);
        assert_int_equal(store_barrier(leader->store, store_on_done, &barrier), 0);
        store_run_until(&c->loop, store_is_answered, &barrier, STORE_PATIENCE_MS,
                        "a barrier that is refused");
        assert_int_equal(barrier.outcome, STORE_NO_SPACE);
        assert_true(uv_now(&c->loop) - since < STORE_FULL_MS);

        set_room(c, true);
        assert_int_equal(count_without_room(leader), 0);
        assert_int_equal(store_node_submit(leader, "c", 1).outcome, STORE_COMMITTED);
        set_room(c, false); // it is a new matter
        assert_int_equal(store_submit(leader->store, "d", 1, store_on_done, &again), 0);
        set_room(c, true);
        store_run_until(&c->loop, store_is_answered, &again, STORE_PATIENCE_MS, "one that waited");
        assert_int_equal(again.outcome, STORE_COMMITTED);
        assert_int_equal(a.n, 1);
}

static void what_waits_when_the_lead_goes_was_certainly_not_applied(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c);
        StoreAnswer batch = {}, barrier = {}, moved = {};

        store_cluster_write(c, 1, 100);
        uint64_t applied = leader->n_applied;
        set_room(c, false);
        assert_int_equal(store_submit(leader->store, "a", 1, store_on_done, &batch), 0);
        assert_int_equal(store_barrier(leader->store, store_on_done, &barrier), 0);
        store_run_for(&c->loop, 50);
        assert_int_equal(store_transfer(leader->store, 0, store_on_member, &moved), 0);
        store_run_until(&c->loop, store_is_answered, &batch, STORE_PATIENCE_MS, "the batch");
        store_run_until(&c->loop, store_is_answered, &barrier, STORE_PATIENCE_MS, "the barrier");
        assert_int_equal(batch.outcome, STORE_NOT_LEADER);
        assert_int_equal(barrier.outcome, STORE_NOT_LEADER);
        store_run_until(&c->loop, store_is_answered, &moved, STORE_PATIENCE_MS, "the handover");
        store_cluster_agree(c);
        assert_int_equal(leader->n_applied, applied);
}

static void what_waits_is_counted_and_answered_at_the_end(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *n = &c->servers[0].node;
        StoreAnswer a = {};
        StoreStats stats;

        set_room(c, false);
        for (unsigned i = 0; i < STORE_PENDING_MAX; i++)
                assert_int_equal(i % 2 ? store_barrier(n->store, store_on_done, &a)
                                       : store_submit(n->store, "x", 1, store_on_done, &a),
                                 0);
        assert_int_equal(store_submit(n->store, "x", 1, store_on_done, &a), -EBUSY);
        store_stats(n->store, &stats);
        assert_int_equal(stats.n_pending, STORE_PENDING_MAX);
        store_node_close(n);
        assert_int_equal(a.n, STORE_PENDING_MAX);
        assert_int_equal(a.outcome, STORE_NOT_LEADER);
        assert_int_equal(n->n_applied, 0);
}

typedef struct Stubborn {
        StoreNode *node;
        int again;
        bool closes;
        StoreAnswer answer;
} Stubborn;

static void on_closed(void *userdata) {
        ((StoreNode *) userdata)->closed = true;
}

static void on_refused(StoreOutcome outcome, uint64_t index, void *userdata) {
        Stubborn *s = userdata;

        s->answer.n++;
        s->answer.outcome = outcome;
        s->again = store_submit(s->node->store, "y", 1, on_refused, s);
        if (!s->closes)
                return;
        s->closes = false;
        store_close(s->node->store, on_closed, s->node);
}

static bool is_closed(void *userdata) {
        return ((StoreNode *) userdata)->closed;
}

// Who is told calls the store: asks again, ends it.
static void who_is_refused_may_ask_again_or_end_it(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *n = &c->servers[0].node;
        Stubborn first = {.node = n}, last = {.node = n, .closes = true};

        set_room(c, false);
        n->closed = false;
        assert_int_equal(store_submit(n->store, "a", 1, on_refused, &first), 0);
        assert_int_equal(store_submit(n->store, "b", 1, on_refused, &last), 0);
        store_run_until(&c->loop, is_closed, n, STORE_PATIENCE_MS, "the end");
        assert_int_equal(first.answer.n, 1);
        assert_int_equal(first.answer.outcome, STORE_NO_SPACE);
        assert_int_equal(first.again, -ENOSPC);
        assert_int_equal(last.answer.n, 1);
        assert_int_equal(last.again, -ENOSPC);
        n->store = NULL;
}

// libraft makes the next segments when the log is opened, and then whenever one is begun. If it could make
// none at first, it takes nothing for want of room, so none is begun.
static void guard_29_a_log_that_was_opened_without_room_takes_batches_when_there_is_some(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *n = &c->servers[0].node;

        store_cluster_write(c, 1, 100);
        store_node_close(n);
        no_segments = true;
        store_node_open(n, false, NULL, NULL);
        store_node_wait_leader(n); // it leads without room, too
        store_run_for(&c->loop, 50);
        no_segments = false;
        assert_int_equal(store_node_submit(n, "a", 1).outcome, STORE_COMMITTED);
}

RUN_TESTS(
        cmocka_unit_test(guard_29_a_log_that_was_opened_without_room_takes_batches_when_there_is_some),
        cmocka_unit_test(guard_21_what_finds_no_room_for_a_moment_is_taken_later),
        cmocka_unit_test(what_comes_later_does_not_overtake),
        cmocka_unit_test(what_finds_no_room_for_seconds_is_refused_and_the_next_at_once),
        cmocka_unit_test(what_waits_when_the_lead_goes_was_certainly_not_applied),
        cmocka_unit_test(what_waits_is_counted_and_answered_at_the_end),
        cmocka_unit_test(who_is_refused_may_ask_again_or_end_it)
)
