// SPDX-License-Identifier: LGPL-2.1-or-later

// What happens while a worker encodes a snapshot. A worker stands before each piece until the test lets it go on, so
// nothing here depends on how long encoding takes.

#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <semaphore.h>

#include "macro.h"
#include "raft-store.h"
#include "store-cluster.h"
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

static int setup(void **state) {
        sem_init(&arrived, 0, 0);
        sem_init(&go_on, 0, 0);
        return 0;
}

static int teardown(void **state) {
        sem_destroy(&arrived);
        sem_destroy(&go_on);
        return 0;
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
        StoreCluster *c = begin(1, 0);
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
        store_cluster_free(c);
}

static void on_timer(uv_timer_t *timer) {
        let_all_go();
        uv_close((uv_handle_t *) timer, NULL);
}

// The worker goes on only when the close has begun.
static void closing_gives_up_what_is_being_encoded(void **state) {
        StoreCluster *c = begin(1, 0);
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
        store_cluster_free(c);
}

static bool follows(void *userdata) {
        return ((StoreNode *) userdata)->role == STORE_FOLLOWER;
}

static void who_steps_down_ends_what_he_began(void **state) {
        StoreCluster *c = begin(3, 0);
        StoreNode *n = &c->servers[0].node;
        StoreAnswer answer = {};

        if (n->role == STORE_LEADER) {
                assert_int_equal(store_transfer(n->store, 0, store_on_member, &answer), 0);
                store_run_until(&c->loop, follows, n, STORE_PATIENCE_MS, "stepping down");
        }
        store_cluster_write(c, 5, 100);
        let_all_go();
        store_run_until(&c->loop, has_snapshot, n, STORE_PATIENCE_MS, "snapshot");
        store_cluster_agree(c);
        store_cluster_free(c);
}

static void without_memory_it_is_begun_anew(void **state) {
        StoreCluster *c = begin(1, 0);
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
        store_cluster_free(c);
}

static void what_is_cut_is_given_up(void **state) {
        StoreCluster *c = begin(1, 0);
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
        store_cluster_free(c);
}

// ---- guard 11

static uint8_t *make_state(uint64_t n_applied, size_t *ret_len) {
        struct {
                uint64_t n_applied;
                Hash chain;
        } bytes = {.n_applied = n_applied};
        Hash digest = hash_of(&bytes, sizeof(bytes));
        uint8_t *record = raft_malloc(SNAPSHOT_HEADER_SIZE + sizeof(bytes));

        snapshot_record_seal(record, sizeof(bytes), &digest);
        memcpy(record + SNAPSHOT_HEADER_SIZE, &bytes, sizeof(bytes));
        *ret_len = SNAPSHOT_HEADER_SIZE + sizeof(bytes);
        return record;
}

static void receive_snapshot(StoreNode *f, uint32_t from, uint64_t index, uint64_t n_applied) {
        RaftStore *s = raft_store(f->store);
        struct raft_message m = {
                .type = RAFT_INSTALL_SNAPSHOT,
                .server_id = from,
                .server_address = from == 1 ? "1" : "2",
                .install_snapshot =
                        {
                                .term = raft_current_term(&s->raft),
                                .last_index = index,
                                .last_term = raft_current_term(&s->raft),
                                .conf_index = 1,
                        },
        };
        struct raft_install_snapshot *install = &m.install_snapshot;

        raft_configuration_init(&install->conf);
        for (unsigned i = 1; i <= 2; i++)
                assert_int_equal(raft_configuration_add(&install->conf, i, i == 1 ? "1" : "2", RAFT_VOTER),
                                 0);
        install->data.base = make_state(n_applied, &install->data.len);
        raft_disk_receive(&s->io, &m);
}

static bool was_restored(void *userdata) {
        return ((StoreNode *) userdata)->n_restores > 0;
}

static void guard_11_a_snapshot_of_the_leader_waits_until_none_is_taken(void **state) {
        StoreCluster *c = store_cluster_of(2);
        StoreNode *leader = store_cluster_leader(c),
                  *f = leader == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;
        StoreStats stats;

        f->filler = PIECES * STORE_NODE_PIECE;
        f->before_piece = stand_still;
        write_until_due(c);
        store_run_until(&c->loop, stands, NULL, STORE_PATIENCE_MS, "a worker that encodes");
        store_stats(f->store, &stats);
        receive_snapshot(f, leader->raft_id, stats.last_index + 100, 12345);
        store_run_for(&c->loop, 20);
        assert_int_equal(f->n_restores, 0);
        let_all_go();
        store_run_until(&c->loop, was_restored, f, STORE_PATIENCE_MS, "the leader's snapshot");
        assert_true(f->n_applied >= 12345);
        assert_int_equal(f->n_held, 0);
        store_cluster_free(c);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_log_goes_on_while_a_snapshot_is_encoded, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(closing_gives_up_what_is_being_encoded, setup, teardown),
                cmocka_unit_test_setup_teardown(who_steps_down_ends_what_he_began, setup, teardown),
                cmocka_unit_test_setup_teardown(without_memory_it_is_begun_anew, setup, teardown),
                cmocka_unit_test_setup_teardown(what_is_cut_is_given_up, setup, teardown),
                cmocka_unit_test_setup_teardown(guard_11_a_snapshot_of_the_leader_waits_until_none_is_taken,
                                                setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
