// SPDX-License-Identifier: LGPL-2.1-or-later

// Stores between which nothing arrives for a while, as over a slow link: what a leader sends meanwhile.

#include "test.h"

#include "bridge.h"
#include "macro.h"
#include "raft-store.h"
#include "store-cluster.h"

enum { LONG_ENTRY = 200 * 1000 };

static int (*send_message)(struct raft_io *io, struct raft_io_send *req, const struct raft_message *message,
                           raft_io_send_cb done);
static size_t n_bytes_sent; // of entries, by everybody

static int count_and_send(struct raft_io *io, struct raft_io_send *req, const struct raft_message *message,
                          raft_io_send_cb done) {
        if (message->type == RAFT_APPEND_ENTRIES)
                for (unsigned i = 0; i < message->append_entries.n_entries; i++)
                        n_bytes_sent += message->append_entries.entries[i].buf.len;
        return send_message(io, req, message, done);
}

static void take_nothing_from(StoreNode *n, uint32_t raft_id, bool nothing) {
        list_foreach (l, &raft_store(n->store)->transport.bridges) {
                Bridge *b = CONTAINER_OF(l, Bridge, node);

                if (b->accepted && b->raft_id == raft_id && b->stream)
                        stream_pause(b->stream, nothing);
        }
}

static void submit_long(StoreNode *leader, StoreAnswer *answers, size_t n) {
        static const char data[LONG_ENTRY] = "long";

        for (size_t i = 0; i < n; i++)
                assert_int_equal(store_submit(leader->store, data, sizeof(data), store_on_done, &answers[i]),
                                 0);
}

// With each heartbeat libraft sends whoever has said nothing what it has not acknowledged. Over a slow link
// that is all the link has time for.
static void what_is_on_its_way_is_not_sent_again(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_new();
        StoreAnswer answers[8] = {};

        for (size_t i = 0; i < 3; i++)
                c->servers[i].node.election_ms = 5000;
        store_cluster_bootstrap(c);
        store_cluster_add(c, 1);
        store_cluster_add(c, 2);
        store_cluster_write_to_all(c, 3, 1000);
        StoreNode *leader = store_cluster_leader(c);
        send_message = raft_store(leader->store)->uv_io.send;
        raft_store(leader->store)->uv_io.send = count_and_send;
        n_bytes_sent = 0;
        for (size_t i = 1; i < 3; i++)
                take_nothing_from(&c->servers[i].node, leader->raft_id, true);
        for (size_t i = 0; i < 4; i++) {
                submit_long(leader, &answers[2 * i], 2);
                store_run_for(&c->loop, 200);
        }
        assert_in_range(n_bytes_sent, 2 * 8 * LONG_ENTRY, 2 * 8 * (LONG_ENTRY + 1000));
        for (size_t i = 1; i < 3; i++)
                take_nothing_from(&c->servers[i].node, leader->raft_id, false);
        for (size_t i = 0; i < 8; i++) {
                store_run_until(&c->loop, store_is_answered, &answers[i], STORE_PATIENCE_MS,
                                "answer to a batch");
                assert_int_equal(answers[i].outcome, STORE_COMMITTED);
        }
        store_cluster_agree(c);
}

// A connection that ends takes with it what was on its way, and so it is sent again on the next one.
static void what_was_lost_with_its_connection_is_sent_again(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_new();
        StoreAnswer answers[2] = {};

        for (size_t i = 0; i < 3; i++)
                c->servers[i].node.election_ms = 5000;
        store_cluster_bootstrap(c);
        store_cluster_add(c, 1);
        store_cluster_add(c, 2);
        store_cluster_agree(c);
        StoreNode *leader = store_cluster_leader(c);
        for (size_t i = 1; i < 3; i++)
                take_nothing_from(&c->servers[i].node, leader->raft_id, true);
        submit_long(leader, answers, 2);
        store_run_for(&c->loop, 200);
        assert_int_equal(answers[0].n, 0);
        for (size_t i = 1; i < 3; i++)
                list_foreach (l, &raft_store(c->servers[i].node.store)->transport.bridges)
                        bridge_close(CONTAINER_OF(l, Bridge, node));
        for (size_t i = 0; i < 2; i++) {
                store_run_until(&c->loop, store_is_answered, &answers[i], STORE_PATIENCE_MS,
                                "answer to a batch");
                assert_int_equal(answers[i].outcome, STORE_COMMITTED);
        }
        store_cluster_agree(c);
}

RUN_TESTS(
        cmocka_unit_test(what_is_on_its_way_is_not_sent_again),
        cmocka_unit_test(what_was_lost_with_its_connection_is_sent_again)
)
