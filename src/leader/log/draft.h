// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One log entry in the making. Pure.
//
// Operations are packed as they come: in protobuf a LogBatch with one operation behind a LogBatch with
// others is the LogBatch with all of them. So nothing is copied twice, the size is always known, and taking
// back is cutting off the end.
//
// The batch remembers which units, specs and hosts it touches, because whoever decides looks at the state as
// it was before the batch: nothing may be decided twice about the same record in one entry.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "hash.h"
#include "map.h"
#include "store.h"

typedef struct KeySet {
        Map map;
        void **keys; // in the order in which they were added
        size_t n, allocated;
} KeySet;

enum {
        DRAFT_SOFT_BYTES = STORE_BATCH_MAX / 2, // what the leader fills by itself; a request may go beyond
};

// Where a unit may still run that is removed.
typedef struct DraftRemoval {
        uint32_t *nodes; // freed by whoever asked
        size_t n_nodes;
        uint64_t fence_us; // as in LogOp.TombstonePut
        size_t room;       // for so many more tombstones
} DraftRemoval;

typedef struct Draft {
        Buf packed;
        size_t soft_bytes; // 0: DRAFT_SOFT_BYTES
        KeySet touched; // 'u' NAME, 's' HASH, 'h' NUMBER, 'r' REQUEST ID, 'c' CLAIM, 'd' NAME
                        // (dependencies), 'o' ROLLOUT, 'w' ROLE, 'x' ROLE of a unit in it, 'p' POOL,
                        // 'k' the cluster's record
        size_t n_ops;
        uint32_t feature_level; // what the log may contain; 0: nobody asks
        // Which nodes the unit of a record may still run on besides those where it places it, as an array
        // that is freed; 0 or -ENOMEM. NULL: as the record says.
        int (*left)(const Argosy__UnitRecord *record, uint32_t **ret, size_t *ret_n, void *userdata);
        // The same about the unit of a record that is removed. 0 or -ENOMEM. NULL: nowhere.
        int (*removed)(const char *name, DraftRemoval *ret, void *userdata);
        void *userdata;
        size_t n_tombstones; // that it leaves
} Draft;

typedef struct DraftMark {
        size_t len, n_touched, n_ops, n_tombstones;
} DraftMark;

void draft_done(Draft *b);
DraftMark draft_mark(const Draft *b);
void draft_rollback(Draft *b, DraftMark mark);
// Whether one more thing may go into it; the rest is for the next entry.
bool draft_takes_more(const Draft *b);

enum {
        DRAFT_BUMP_START = 1 << 0,
        DRAFT_BUMP_RESTART = 1 << 1,
        DRAFT_BUMP_STOP = 1 << 2,
};

// All of these: 0 or -ENOMEM (then roll back), -EPROTONOSUPPORT for what is beyond feature_level: our own
// mistake. What they are given is borrowed.
int draft_put_unit(Draft *b, Argosy__UnitRecord *record, unsigned bump, uint64_t if_revision);
int draft_remove_unit(Draft *b, const char *name); // -EOVERFLOW: with too many tombstones; b is as before
int draft_put_tombstone(Draft *b, const char *name, uint32_t *nodes, size_t n, uint64_t fence_us);
int draft_clear_tombstones(Draft *b, uint32_t host, uint64_t revision, uint64_t fence_us);
int draft_put_spec(Draft *b, const Hash *hash, const void *content, size_t len); // only once for each hash
int draft_put_host(Draft *b, Argosy__HostRecord *record);
int draft_remove_host(Draft *b, uint32_t host);
int draft_put_token(Draft *b, Argosy__TokenRecord *record);
int draft_remove_token(Draft *b, const char *id);
int draft_put_outcome(Draft *b, const char *name, Argosy__Outcome *outcome);
int draft_put_rollout(Draft *b, Argosy__RolloutRecord *record);
int draft_put_role(Draft *b, Argosy__RoleRecord *record);
int draft_remove_role(Draft *b, const char *name);
int draft_put_pool(Draft *b, Argosy__PoolRecord *record);
int draft_remove_pool(Draft *b, const char *name);
int draft_put_cluster(Draft *b, Argosy__ClusterRecord *record); // -EBUSY: the batch has one already
int draft_add_request(Draft *b, const void *id, size_t len);
int draft_set_time(Draft *b, uint64_t at_us);

// Reserves a word that must not be used twice in one batch, without an operation. -EBUSY: it is reserved.
int draft_claim(Draft *b, const void *data, size_t len);

// Notes, without an operation, that the unit is about to have other dependencies than the log says; twice is
// once.
int draft_note_order(Draft *b, const char *name);
bool draft_has_order(const Draft *b, const char *name);

bool draft_has_unit(const Draft *b, const char *name);
// True if the batch puts the unit: its target then, and its node, 0 if it has none or is global.
bool draft_find_unit(const Draft *b, const char *name, Argosy__Target *ret_target, uint32_t *ret_node);
bool draft_has_rollout(const Draft *b, const char *name);
bool draft_has_role(const Draft *b, const char *name);
int draft_use_role(Draft *b, const char *name); // a unit in it is of this role; no operation
bool draft_uses_role(const Draft *b, const char *name);
bool draft_has_pool(const Draft *b, const char *name);
bool draft_has_cluster(const Draft *b);
bool draft_has_host(const Draft *b, uint32_t host);
bool draft_has_request(const Draft *b, const void *id, size_t len);
// Calls `each` for the units that the batch touches, until it returns true; returns whether it did.
bool draft_each_unit(const Draft *b, bool (*each)(const char *name, void *userdata), void *userdata);
// Whether the unit was touched after `mark`.
bool draft_has_unit_since(const Draft *b, const char *name, DraftMark mark);
