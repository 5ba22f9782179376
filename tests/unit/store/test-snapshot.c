// SPDX-License-Identifier: LGPL-2.1-or-later

// What happens while a worker encodes a snapshot. A worker stands before each piece until the test lets it
// go on, so nothing here depends on how long encoding takes.

#include "test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <unistd.h>

#include "macro.h"
#include "raft-store.h"
#include "store-peer.h"
#include "str.h"

enum { PIECES = 5, MEGABYTES = 9, MANY = 1000 };

static sem_t arrived, go_on;

static void stand_still(StoreNode *n) {
        sem_post(&arrived);
        sem_wait(&go_on);
}

static void let_all_go(void) {
        for (int i = 0; i < MANY; i++)
                sem_post(&go_on);
}

FIXTURE(setup) {
        sem_init(&arrived, 0, 0);
        sem_init(&go_on, 0, 0);
}

FIXTURE(teardown) {
        sem_destroy(&arrived);
        sem_destroy(&go_on);
}

static void write_until_due(StoreCluster *c) {
        store_cluster_write(c, MEGABYTES, 1000 * 1000);
}

static bool stands(void *userdata) {
        return sem_trywait(&arrived) == 0;
}

static bool has_snapshot(void *userdata) {
        DIR *d = opendir(((StoreNode *) userdata)->dir);
        struct dirent *e;
        bool found = false;

        assert_non_null(d);
        while ((e = readdir(d)))
                found |= str_has_prefix(e->d_name, "snapshot-") && !strstr(e->d_name, ".meta");
        closedir(d);
        return found;
}

static bool is_over(void *userdata) {
        return !raft_store(((StoreNode *) userdata)->store)->taking;
}

// A cluster in which server `i` is encoding, and stands before the first piece.
static StoreCluster *begin(size_t n, size_t i) {
        StoreCluster *c = store_cluster_of(n);

        c->servers[i].node.filler = PIECES * STORE_NODE_PIECE;
        c->servers[i].node.before_piece = stand_still;
        write_until_due(c);
        store_run_until(&c->loop, stands, NULL, STORE_PATIENCE_MS, "a worker that encodes");
        return c;
}

static void open_again(StoreNode *n) {
        n->before_piece = NULL;
        store_node_close(n);
        store_node_open(n, false, NULL, NULL);
}

static bool is_counted(void *userdata) {
        StoreStats stats;

        store_stats(((StoreNode *) userdata)->store, &stats);
        return stats.snapshots.sum_us > 0 && stats.snapshot_failures == 0;
}

static void the_log_goes_on_while_a_snapshot_is_encoded(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = begin(1, 0);
        StoreNode *n = &c->servers[0].node;
        uint64_t before = n->n_applied;
        Hash chain;

        store_cluster_write(c, 20, 100);
        assert_true(n->n_applied >= before + 20);
        assert_int_equal(n->n_snapshots, 1);
        assert_int_equal(n->n_held, 1);
        let_all_go();
        store_run_until(&c->loop, has_snapshot, n, STORE_PATIENCE_MS, "snapshot");
        store_run_until(&c->loop, is_over, n, STORE_PATIENCE_MS, "end");
        assert_int_equal(n->n_held, 0);
        store_run_until(&c->loop, is_counted, n, STORE_PATIENCE_MS, "a snapshot that is counted");
        chain = n->chain;
        open_again(n); // from the snapshot, and what came after it was taken
        store_node_wait_leader(n);
        assert_int_equal(n->n_restores, 1);
        assert_true(hash_equal(&n->chain, &chain));
}

static bool is_written(void *userdata) {
        return ((StoreNode *) userdata)->n_written > 0;
}

static void a_batch_may_ask_for_a_snapshot(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *n = &c->servers[0].node;

        store_cluster_write(c, 3, 100);
        assert_int_equal(n->n_snapshots, 0);
        n->compacts = true;
        store_cluster_write(c, 1, 100);
        store_run_until(&c->loop, is_written, n, STORE_PATIENCE_MS, "a snapshot that was asked for");
        assert_true(has_snapshot(n));
        assert_int_equal(n->n_snapshots, 1);
        store_cluster_write(c, 3, 100);
        assert_int_equal(n->n_snapshots, 1); // and no other
}

// A snapshot that is being encoded does not have that batch.
static void what_asks_while_one_is_taken_gets_the_next(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = begin(1, 0);
        StoreNode *n = &c->servers[0].node;

        n->compacts = true;
        store_cluster_write(c, 1, 100);
        let_all_go();
        store_run_until(&c->loop, is_written, n, STORE_PATIENCE_MS, "the first one");
        n->n_written = 0;
        store_run_until(&c->loop, is_written, n, STORE_PATIENCE_MS, "the one that was asked for");
        assert_int_equal(n->n_snapshots, 2);
        n->before_piece = NULL;
}

static void on_timer(uv_timer_t *timer) {
        let_all_go();
        uv_close((uv_handle_t *) timer, NULL);
}

// The worker goes on only when the close has begun.
static void closing_gives_up_what_is_being_encoded(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = begin(1, 0);
        StoreNode *n = &c->servers[0].node;
        uv_timer_t timer;
        Hash chain = n->chain;

        uv_timer_init(&c->loop, &timer);
        uv_timer_start(&timer, on_timer, 1, 0);
        store_node_close(n); // asserts that nothing is held any more
        assert_false(has_snapshot(n));
        n->before_piece = NULL;
        store_node_open(n, false, NULL, NULL);
        store_node_wait_leader(n);
        assert_true(hash_equal(&n->chain, &chain)); // the log was as it was
}

static void who_steps_down_ends_what_he_began(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = begin(3, 0);
        StoreNode *n = &c->servers[0].node;

        store_cluster_hand_over(c, n);
        store_cluster_write(c, 5, 100);
        let_all_go();
        store_run_until(&c->loop, has_snapshot, n, STORE_PATIENCE_MS, "snapshot");
        store_cluster_agree(c);
}

static void without_memory_it_is_begun_anew(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = begin(1, 0);
        StoreNode *n = &c->servers[0].node;

        atomic_store(&n->piece_error, 1);
        n->snapshot_error = -EBUSY;
        let_all_go();
        store_run_until(&c->loop, is_over, n, STORE_PATIENCE_MS, "giving up");
        assert_int_equal(n->n_held, 0);
        assert_false(has_snapshot(n));
        store_cluster_write(c, 3, 100);
        assert_int_equal(n->n_snapshots, 1);
        n->snapshot_error = 0;
        while (!has_snapshot(n)) // libraft asks when something happens
                store_cluster_write(c, 1, 100);
        assert_int_equal(n->n_snapshots, 2);
}

static void what_is_cut_is_given_up(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = begin(1, 0);
        StoreNode *n = &c->servers[0].node;

        n->cut = true;
        sem_post(&go_on); // one piece
        store_run_until(&c->loop, is_over, n, STORE_PATIENCE_MS, "giving up");
        assert_int_equal(n->n_held, 0);
        assert_false(has_snapshot(n));
        n->cut = false;
        let_all_go();
        while (!has_snapshot(n))
                store_cluster_write(c, 1, 100);
}

// ---- guard 11

static bool was_restored(void *userdata) {
        return ((StoreNode *) userdata)->n_restores > 0;
}

static void guard_11_a_snapshot_of_the_leader_waits_until_none_is_taken(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *leader = store_cluster_leader(c),
                  *f = leader == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;
        StoreStats stats;

        f->filler = PIECES * STORE_NODE_PIECE;
        f->before_piece = stand_still;
        write_until_due(c);
        store_run_until(&c->loop, stands, NULL, STORE_PATIENCE_MS, "a worker that encodes");
        store_stats(f->store, &stats);
        store_peer_snapshot(f, store_term(f), stats.last_index + 100, 12345);
        store_run_for(&c->loop, 20);
        assert_int_equal(f->n_restores, 0);
        let_all_go();
        store_run_until(&c->loop, was_restored, f, STORE_PATIENCE_MS, "the leader's snapshot");
        assert_true(f->n_applied >= 12345);
        assert_int_equal(f->n_held, 0);
}

// ---- a disk that takes its time

// libraft's workers call these. Those whose path begins so wait there until it is NULL.
static const char *_Atomic hangs_at, *_Atomic reading_hangs_at;
static _Atomic bool is_waiting;

static void wait_there(const char *path, const char *_Atomic *where) {
        const char *at;

        while ((at = *where) && str_has_prefix(path, at)) {
                is_waiting = true;
                usleep(1000);
        }
}

_public_ int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags) {
        int (*real)(int, const char *, int, const char *, int) =
                (int (*)(int, const char *, int, const char *, int)) dlsym(RTLD_NEXT, "linkat");
        int r = real(from_fd, from, to_fd, to, flags);

        if (!strstr(to, ".meta")) // which comes first
                wait_there(to, &hangs_at);
        return r;
}

_public_ ssize_t read(int fd, void *data, size_t len) {
        static ssize_t (*real)(int, void *, size_t);
        char link[64], path[600] = "";

        if (!real)
                real = (ssize_t (*)(int, void *, size_t)) dlsym(RTLD_NEXT, "read");
        if (reading_hangs_at) {
                snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
                if (readlink(link, path, sizeof(path) - 1) > 0)
                        wait_there(path, &reading_hangs_at);
        }
        return real(fd, data, len);
}

static void hang_at(const char *_Atomic *where, char path[static 600], const char *dir) {
        snprintf(path, 600, "%s/snapshot-", dir);
        is_waiting = false;
        *where = path;
}

static bool somebody_waits(void *userdata) {
        return is_waiting;
}

static StoreNode *follower(StoreCluster *c) {
        return store_cluster_leader(c) == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;
}

// Three entries that were never committed give way to one of the next leader's, while a worker puts a
// snapshot in place.
static void guard_16_a_truncation_waits_until_a_snapshot_is_in_place(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *f = follower(c);
        char path[600];

        hang_at(&hangs_at, path, f->dir);
        write_until_due(c);
        store_run_until(&c->loop, somebody_waits, NULL, STORE_PATIENCE_MS, "a worker that puts it in place");
        store_cluster_write(c, 1, 100); // to a segment that was opened meanwhile
        store_cluster_agree(c);
        store_node_close(store_cluster_leader(c));
        uint64_t term = store_term(f);
        uint64_t before = raft_last_index(&raft_store(f->store)->raft);
        uint64_t before_term = store_last_term(f);
        store_peer_entries(f, term, before, before_term, 3, false, 0);
        store_run_until(&c->loop, store_peer_is_stored, &(StorePeerStored){f, term, before + 3},
                        STORE_PATIENCE_MS, "three entries");
        store_peer_entries(f, term + 1, before, before_term, 1, false, 0);
        store_run_for(&c->loop, 100);
        hangs_at = NULL;
        store_run_until(&c->loop, is_over, f, STORE_PATIENCE_MS, "a snapshot");
        store_run_until(&c->loop, store_peer_is_stored, &(StorePeerStored){f, term + 1, before + 1},
                        STORE_PATIENCE_MS, "one entry");
        store_node_crash(c, f);
        assert_int_equal(raft_last_index(&raft_store(f->store)->raft), before + 1);
        assert_int_equal(store_last_term(f), term + 1);
}

// Of a follower with a slow disk some entries wait for an append to end when the leader's snapshot comes:
// they would have been written as what follows it.
static void what_waits_to_be_written_does_not_follow_the_leaders_snapshot(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *f = follower(c);
        RaftStore *s = raft_store(f->store);

        store_cluster_write_to_all(c, 1, 100);
        store_node_close(store_cluster_leader(c));
        uint64_t before = raft_last_index(&s->raft);
        s->gate.writing = true;
        store_peer_entries(f, raft_current_term(&s->raft), before, store_last_term(f), 3, false, 0);
        assert_false(list_is_empty(&s->gate.writes));
        store_peer_snapshot(f, store_term(f), before + 100, 12345);
        store_run_until(&c->loop, was_restored, f, STORE_PATIENCE_MS, "the leader's snapshot");
        s->gate.writing = false;
        raft_gate_go_on(s);
        store_run_for(&c->loop, 100);
        store_node_crash(c, f);
        assert_int_equal(raft_last_index(&raft_store(f->store)->raft), before + 100);
}

// ---- guard 18

static bool has_compacted(void *userdata) {
        return raft_store(((StoreNode *) userdata)->store)->raft.trail.offset > 0;
}

// A cluster of three, of which *ret_away is closed and needs a snapshot, whoever of the others leads.
static StoreCluster *begin_without_one(StoreNode **ret_away) {
        StoreCluster *c = store_cluster_of(3);
        StoreNode *away = follower(c);

        store_cluster_agree(c);
        store_node_close(away);
        store_cluster_write(c, 100, 100);
        write_until_due(c);
        for (int i = 0; i < 3; i++)
                if (c->servers[i].node.store)
                        store_run_until(&c->loop, has_compacted, &c->servers[i].node, STORE_PATIENCE_MS,
                                        "a snapshot");
        *ret_away = away;
        return c;
}

static bool still_leads(const StoreNode *n, uint64_t term) {
        return n->role == STORE_LEADER && n->leader.term == term;
}

// The leader has a snapshot of an earlier term. The next one is on its disk, but libraft does not know yet
// when a member needs one. False: the member got the earlier one, which was on its way before; or on a busy
// machine another one leads by now.
static bool sends_what_libraft_does_not_know(void) {
        StoreNode *away, *leader;
        StoreCluster *c = begin_without_one(&away);
        uint64_t term, led;
        char path[600];

        while (store_cluster_leader(c)->leader.term ==
               raft_store(store_cluster_leader(c)->store)->raft.trail.snapshot.term) {
                StoreAnswer a = {};

                if (store_transfer(store_cluster_leader(c)->store, 0, store_on_member, &a) == 0)
                        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "a handover");
                store_run_for(&c->loop, 10);
        }
        c->servers[away->raft_id - 1].unreachable = true;
        store_node_open(away, false, NULL, NULL);
        store_cluster_write(c, 1, 100);
        leader = store_cluster_leader(c);
        led = leader->leader.term;
        hang_at(&hangs_at, path, leader->dir);
        write_until_due(c);
        store_run_until(&c->loop, somebody_waits, NULL, STORE_PATIENCE_MS, "another snapshot");
        term = store_last_term(leader);
        const struct raft_trail *known = &raft_store(leader->store)->raft.trail;
        if (still_leads(leader, led))
                assert_int_not_equal(known->snapshot.term, term);
        c->servers[away->raft_id - 1].unreachable = false;
        store_run_until(&c->loop, was_restored, away, STORE_PATIENCE_MS, "the leader's snapshot");
        const struct raft_trail *got = &raft_store(away->store)->raft.trail;
        bool sent = got->snapshot.index > known->snapshot.index && still_leads(leader, led);
        if (still_leads(leader, led))
                assert_int_equal(got->snapshot.term, sent ? term : known->snapshot.term);
        hangs_at = NULL;
        store_cluster_agree(c);
        store_cluster_free(c);
        return sent;
}

static void guard_18_a_snapshot_is_sent_with_its_own_term(void **state) {
        for (unsigned tries = 1; !sends_what_libraft_does_not_know(); tries++)
                assert_int_not_equal(tries, 10);
}

static void on_closed(void *userdata) {
        ((StoreNode *) userdata)->closed = true;
}

static bool is_closed(void *userdata) {
        return ((StoreNode *) userdata)->closed;
}

static void guard_18_nothing_is_sent_after_the_close(void **state) {
        StoreNode *away, *leader;
        _cleanup_(store_cluster_freep) StoreCluster *c = begin_without_one(&away);
        char path[600];

        leader = store_cluster_leader(c);
        hang_at(&reading_hangs_at, path, leader->dir);
        store_node_open(away, false, NULL, NULL);
        store_run_until(&c->loop, somebody_waits, NULL, STORE_PATIENCE_MS, "a worker that reads");
        leader->closed = false;
        store_close(TAKE_PTR(leader->store), on_closed, leader);
        store_run_for(&c->loop, 50);
        reading_hangs_at = NULL;
        store_run_until(&c->loop, is_closed, leader, STORE_PATIENCE_MS, "close");
        store_run_for(&c->loop, 500); // libraft would try to reach the member again
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(the_log_goes_on_while_a_snapshot_is_encoded, setup,
                                        teardown),
        cmocka_unit_test(a_batch_may_ask_for_a_snapshot),
        cmocka_unit_test_setup_teardown(what_asks_while_one_is_taken_gets_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(closing_gives_up_what_is_being_encoded, setup, teardown),
        cmocka_unit_test_setup_teardown(who_steps_down_ends_what_he_began, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_it_is_begun_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_cut_is_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(guard_11_a_snapshot_of_the_leader_waits_until_none_is_taken,
                                        setup, teardown),
        cmocka_unit_test(guard_16_a_truncation_waits_until_a_snapshot_is_in_place),
        cmocka_unit_test(what_waits_to_be_written_does_not_follow_the_leaders_snapshot),
        cmocka_unit_test(guard_18_a_snapshot_is_sent_with_its_own_term),
        cmocka_unit_test(guard_18_nothing_is_sent_after_the_close)
)
