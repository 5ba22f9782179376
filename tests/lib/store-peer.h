// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a leader says to a store, as libraft's messages, and what that store has of it on its disk. For a
// follower in a cluster of two, whose servers are 1 and 2, when a test wants to choose each message.

#include "raft-store.h"
#include "store-cluster.h"

// `n` empty entries, or batches of one byte if `batches`, behind `behind`; all are committed up to
// `committed`.
void store_peer_entries(StoreNode *to, uint64_t term, uint64_t behind, uint64_t behind_term, unsigned n,
                        bool batches, uint64_t committed);
// A snapshot of a state that has applied `n_applied` batches, the last one of them in this term.
void store_peer_snapshot(StoreNode *to, uint64_t term, uint64_t index, uint64_t n_applied);
uint64_t store_term(StoreNode *n);
// The term of the last entry that a store has.
uint64_t store_last_term(StoreNode *n);

// For store_run_until(): the log ends there, and is written.
typedef struct StorePeerStored {
        StoreNode *node;
        uint64_t term, last;
} StorePeerStored;

bool store_peer_is_stored(void *stored);
