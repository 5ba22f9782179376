// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The nodes that take units, in the order of their load or their fit: see placement-index.c.

#include "placement-tables.h"

typedef struct PlacedHost PlacedHost;
typedef struct PlacedNode PlacedNode;

enum {
        INDEX_LOADS = 4096, // distinct keys of one rank
        INDEX_KEYS = 2 * INDEX_LOADS,
        INDEX_FAN = 16,
        INDEX_MIDS = INDEX_KEYS / INDEX_FAN,
        INDEX_TOPS = INDEX_MIDS / INDEX_FAN,
        INDEX_LIST_MAX = 32, // nodes of one key kept as a list; more are a bitmap
};

typedef struct IndexKey { // all nodes with this key
        uint32_t first, n;
        Word *nodes;                   // bitmap; NULL: a list
        int32_t most_cpu, most_memory; // no node here has more free; may be too large
} IndexKey;

typedef struct IndexLink {
        uint32_t prev, next;
        uint32_t key; // PLACEMENT_NONE: not in the index
} IndexLink;

typedef struct Index {
        bool on;
        IndexKey *keys;
        Word *leaf, *mid, *top; // masks over selectors: what may be found below; a bit may be stale
        IndexLink *links;       // by node
} Index;

typedef enum IndexKind { INDEX_LOAD, INDEX_FIT, N_INDEXES } IndexKind;

void index_start(Placement *p, IndexKind kind);
void index_done(Index *ix);
void index_restride(Placement *p, uint32_t words); // masks get wider
void index_renode(Placement *p, uint32_t nodes);   // room for more nodes
void index_put(Placement *p, uint32_t node);       // where its state and load say; also takes it out
void index_put_host(Placement *p, uint32_t host);
void index_add_bit(Placement *p, uint32_t node, uint32_t selector); // the node got it
// The first key >= from that may have a node for the selector; INDEX_KEYS: none.
uint32_t index_next(const Placement *p, const Index *ix, uint32_t selector, uint32_t from);
void index_drop_bit(Placement *p, Index *ix, uint32_t key, uint32_t selector); // nothing there has it
void index_drop_selector(Placement *p, Index *ix, uint32_t selector); // nobody asks for it any more
uint32_t host_share(const Placement *p, const PlacedHost *h); // largest reserved one, of PLACEMENT_SHARE
uint32_t host_points(const PlacedHost *h, uint64_t now_us);
