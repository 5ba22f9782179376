// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The replicated state: what the log says. Every voter has one and applies the same batches in the same order, so everything
// here is deterministic: no clock, no randomness, no pointers in the order of anything.
//
// Records are immutable once in the table: a change puts a new record in place of the old one, so a borrowed pointer is valid
// until the next cluster_state_apply().
//
// Not here: what units are doing at the moment (src/leader), who is alive (src/leader).

#include "argosy.pb-c.h"
#include "buf.h"
#include "hash.h"
#include "list.h"
#include "map.h"

enum {
        CLUSTER_UNITS_MAX = 1000000,
        CLUSTER_REQUESTS_REMEMBERED = 4096, // applied request ids; a client that repeats itself later than that applies twice
        FEATURE_LEVEL = 1,                  // highest that this program understands
};

typedef struct ClusterState ClusterState;

typedef struct SpecEntry {
        Hash hash;
        uint8_t *content;
        size_t len;
        size_t users;                // unit records that refer to it; dropped when 0
        struct UnitFile *file;       // parsed for the first user's name; per-instance specifiers are evaluated by the scheduler
        bool parsed;
} SpecEntry;

typedef struct HostEntry {
        Argosy__HostRecord *record;  // owned
        size_t index;                // position in hosts order (by number)
} HostEntry;

typedef struct UnitEntry {
        char *name;                  // the map's key
        Argosy__UnitRecord *record;  // owned
        SpecEntry *spec;             // borrowed from the spec table
        ListNode dirty;              // in ClusterState's dirty list since the last cluster_state_take_dirty()
        uint32_t node_before;        // node number that it was placed on when it became dirty
        bool existed;                // it existed when it became dirty
} UnitEntry;

ClusterState *cluster_state_new(void);
ClusterState *cluster_state_free(ClusterState *s);
DEFINE_CLEANUP(ClusterState *, cluster_state_free)

// Applies one committed batch. Never fails because of its content: what does not fit (unknown unit, wrong if_revision) is
// skipped, the same on every voter. -ENOMEM leaves the state unusable: the caller must exit.
int cluster_state_apply(ClusterState *s, const Argosy__LogBatch *batch);

// Image of the whole state for a snapshot, and back. restore replaces everything; -EBADMSG: not an image of ours.
int cluster_state_encode(const ClusterState *s, Buf *ret);
int cluster_state_restore(ClusterState *s, const void *data, size_t len);

const Argosy__ClusterRecord *cluster_state_cluster(const ClusterState *s); // NULL before the first batch
uint64_t cluster_state_revision(const ClusterState *s);
// Next raft id to give: greater than any that was ever in a host record.
uint32_t cluster_state_next_raft_id(const ClusterState *s);

UnitEntry *cluster_state_find_unit(const ClusterState *s, const char *name);
// Sorted by name; valid until the next apply. Cost: sorts again only after units were added or removed.
int cluster_state_units(ClusterState *s, UnitEntry ***ret, size_t *ret_n);
size_t cluster_state_n_units(const ClusterState *s);
SpecEntry *cluster_state_find_spec(const ClusterState *s, const Hash *hash);

// By number, ascending; valid until the next apply.
const HostEntry *cluster_state_hosts(const ClusterState *s, size_t *ret_n);
const Argosy__HostRecord *cluster_state_find_host(const ClusterState *s, uint32_t host);
const Argosy__HostRecord *cluster_state_find_host_by_pin(const ClusterState *s, const Hash *pin);
const Argosy__HostRecord *cluster_state_find_host_by_node(const ClusterState *s, uint32_t node);
// By name, host id (32 hex), machine id, or unique prefix (>= 4 characters) of the ids. NULL: none or ambiguous.
const Argosy__HostRecord *cluster_state_resolve_host(const ClusterState *s, const char *word);
const Argosy__TokenRecord *cluster_state_find_token(const ClusterState *s, const char *id);
// Whether a request id has been applied; *ret_revision is the revision after its batch.
bool cluster_state_was_applied(const ClusterState *s, const uint8_t id[16], uint64_t *ret_revision);

// What changed since the last call: unit entries in the order in which they became dirty, by cluster_state_next_dirty() until NULL.
// A removed unit's entry is handed over with record->target INACTIVE and record->revision that of the removal, `removed` set; free it
// with cluster_state_dirty_done() (call it for every entry that was returned).
UnitEntry *cluster_state_next_dirty(ClusterState *s, bool *ret_removed);
void cluster_state_dirty_done(ClusterState *s, UnitEntry *u);
// True once after hosts, tokens or the cluster record changed since the last call.
bool cluster_state_take_hosts_changed(ClusterState *s);
