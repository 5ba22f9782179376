// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Several stores in one process and loop, talking TLS over the loopback, each with its own listener,
// directory and key. Server i has raft id i + 1.

#include "store-node.h"

typedef struct Listener Listener;
typedef struct StoreCluster StoreCluster;

enum { STORE_CLUSTER_MAX = 4 };

typedef struct StoreServer {
        StoreCluster *cluster;
        StoreNode node;
        Listener *listener;
        uint16_t port;
        Hash pin;         // what resolve() tells the others
        bool unreachable; // resolve() does not know it
        bool retired;
        unsigned n_resolved; // how often it was to be dialled
        unsigned n_accepted;
} StoreServer;

struct StoreCluster {
        uv_loop_t loop;
        char base[256];
        StoreServer servers[STORE_CLUSTER_MAX];
        unsigned n_listeners;
};

StoreCluster *store_cluster_new(void);
// Closes everything; fails on handles that are left.
void store_cluster_free(StoreCluster *c);
DEFINE_CLEANUP(StoreCluster *, store_cluster_free)
// Opens server 0 as the first host and lets it win.
void store_cluster_bootstrap(StoreCluster *c);
// Opens server i, empty, and has the leader add it.
void store_cluster_add(StoreCluster *c, size_t i);
// Bootstraps and adds until there are n.
StoreCluster *store_cluster_of(size_t n);
// The leader, waiting for one.
StoreNode *store_cluster_leader(StoreCluster *c);
// Returns when `old`, if it leads, does so no more. Its successor has one election timeout to win; on a
// machine too busy for that nothing has changed, and it is tried once more.
void store_cluster_hand_over(StoreCluster *c, StoreNode *old);
// Waits for a leader, and until all open stores have the history of the one that has applied most:
// leadership may change meanwhile.
void store_cluster_agree(StoreCluster *c);
// Submits batches of `len` bytes one after the other at the leader until it has applied `count` more.
void store_cluster_write(StoreCluster *c, unsigned count, size_t len);
// The same, and store_cluster_agree().
void store_cluster_write_to_all(StoreCluster *c, unsigned count, size_t len);
// The store is closed; its next open goes on with what is on its disk at this moment.
void store_node_lose_power(StoreCluster *c, StoreNode *n);
// And is opened again.
void store_node_crash(StoreCluster *c, StoreNode *n);
