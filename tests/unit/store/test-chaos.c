// SPDX-License-Identifier: LGPL-2.1-or-later

// Three members, of which one after the other loses power while batches are written, often the leader:
// whatever was acknowledged is there at the end, and all have one history. A crash is an image of the
// directory while the store runs, on which it goes on. The same seed gives the same order of crashes;
// STORE_CHAOS_SEED and STORE_CHAOS_ROUNDS change it.

#include "test.h"

#include <unistd.h>

#include "macro.h"
#include "store-cluster.h"

static unsigned seed = 1, rounds = 12;

static unsigned dice(unsigned n) {
        return (unsigned) rand_r(&seed) % n;
}

typedef struct Writes {
        uint64_t acknowledged;
        unsigned in_flight;
} Writes;

static void on_done(StoreOutcome outcome, uint64_t index, void *userdata) {
        Writes *w = userdata;

        w->in_flight--;
        if (outcome == STORE_COMMITTED)
                w->acknowledged++;
}

// Leaves some of them on their way.
static void write_some(StoreCluster *c, Writes *w, size_t len) {
        static char data[200000];
        StoreNode *leader = store_cluster_leader(c);

        for (unsigned i = 0; i < 20; i++)
                if (store_submit(leader->store, data, len, on_done, w) == 0)
                        w->in_flight++;
        store_run_for(&c->loop, dice(20));
}

static void on_transferred(int error, void *userdata) {
}

static bool none_in_flight(void *userdata) {
        return ((Writes *) userdata)->in_flight == 0;
}

static void what_was_acknowledged_survives_crashes(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *down = NULL;
        Writes w = {};

        while (w.acknowledged == 0) { // a busy machine may change its leader before it has answered anything
                write_some(c, &w, 100);
                store_run_until(&c->loop, none_in_flight, &w, STORE_PATIENCE_MS, "the first answers");
        }
        for (unsigned i = 0; i < rounds; i++) {
                write_some(c, &w, dice(4) == 0 ? 200000 : 100);
                if (dice(4) == 0)
                        (void) store_transfer(store_cluster_leader(c)->store, 0, on_transferred, NULL);
                if (down) // one at a time: the other two are the majority
                        store_node_open(TAKE_PTR(down), false, NULL, NULL);
                else {
                        down = dice(2) == 0 ? store_cluster_leader(c) : &c->servers[dice(3)].node;
                        store_node_lose_power(c, down);
                }
        }
        if (down)
                store_node_open(down, false, NULL, NULL);
        store_run_until(&c->loop, none_in_flight, &w, STORE_PATIENCE_MS, "the last answers");
        assert_in_range(store_cluster_leader(c)->n_applied, w.acknowledged, UINT64_MAX);
        store_cluster_write_to_all(c, 1, 100);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_acknowledged_survives_crashes)};

        if (getenv("STORE_CHAOS_SEED"))
                seed = (unsigned) atoi(getenv("STORE_CHAOS_SEED"));
        if (getenv("STORE_CHAOS_ROUNDS"))
                rounds = (unsigned) atoi(getenv("STORE_CHAOS_ROUNDS"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
