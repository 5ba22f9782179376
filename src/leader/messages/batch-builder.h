// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One log entry in the making. Pure.
//
// Operations are packed as they come: in protobuf a LogBatch with one operation behind a LogBatch with
// others is the LogBatch with all of them. So nothing is copied twice, the size is always known, and taking
// back is cutting off the end.
//
// The batch remembers which units, specs and hosts it touches, because decisions look at the state as it was
// before the batch: nothing may be decided twice about the same record in one entry.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "cluster-state-limits.h"
#include "cluster-state.h"
#include "hash.h"
#include "map.h"
#include "store.h"

typedef struct KeySet {
        Map map;
        void **keys; // in the order in which they were added
        size_t n, allocated;
} KeySet;

// Where a unit may still run that is removed.
typedef struct BatchBuilderRemoval {
        uint32_t *nodes; // freed by the caller
        size_t n_nodes;
        uint64_t fence_us; // as in LogOp.TombstonePut
} BatchBuilderRemoval;

typedef struct BatchBuilder BatchBuilder;
struct BatchBuilder {
        Buf packed;
        // What the leader fills by itself, and units up to which requests are taken. Applying and following
        // an entry costs some 20 us for each of its units, all in one turn. 0: any number.
        size_t soft_bytes, soft_units, most_units;
        KeySet touched;    // what each key says is in batch-builder.c
        size_t n_ops, n_units; // units: that it touches, and what its new contents cost as units
        uint32_t feature_level; // what the log may contain; 0: nobody asks
        // Which nodes the unit of a record may still run on besides those where it places it, as an array
        // that is freed, and UnitExtra.former_fence_us; 0 or -ENOMEM. NULL: as the record says.
        int (*previous_nodes)(const BatchBuilder *b, const Argosy__UnitRecord *record, uint32_t **ret,
                              size_t *ret_n, uint64_t *ret_fence_us);
        // UnitExtra.data_node of the record, asked with `previous_nodes`. NULL: none has data.
        uint32_t (*data_node)(const Argosy__UnitRecord *record, void *userdata);
        // The same about the unit of a record that is removed. 0 or -ENOMEM. NULL: nowhere.
        int (*removed)(const char *name, BatchBuilderRemoval *ret, void *userdata);
        // Called for each unit that is put; 0 or -ENOMEM. May be NULL.
        int (*moved)(const Argosy__UnitRecord *next, unsigned bump, void *userdata);
        void *userdata;
        // What it is applied to; NULL: nobody asks. What the batch holds is counted.
        const ClusterState *state;
        ClusterHeld held;
        // Each operation is judged, counting these: it is for a request, which is refused then. What the
        // leader does by itself adds to nothing that is limited but where units may still run, which is
        // judged always; were something else refused, the log would tell that, and nothing else would wait
        // for it.
        bool judges;
        ClusterRefusal refusal; // why the last one was that got -EDQUOT
};

typedef struct BatchBuilderMark {
        size_t len, n_touched, n_ops;
        ClusterHeld held;
} BatchBuilderMark;

void batch_builder_done(BatchBuilder *b);
static inline BatchBuilderMark batch_builder_mark(const BatchBuilder *b) {
        return (BatchBuilderMark){.len = b->packed.len,
                                  .n_touched = b->touched.n,
                                  .n_ops = b->n_ops,
                                  .held = b->held};
}
void batch_builder_rollback(BatchBuilder *b, BatchBuilderMark mark);
// Whether one more thing may go into it; the rest is for the next entry.
bool batch_builder_takes_more(const BatchBuilder *b); // of what the leader does by itself
bool batch_builder_takes_request(const BatchBuilder *b, size_t n_units); // one about so many units
// A content that is new may demand of hosts what no other does, and then the placement looks at each of them
// once: what that costs, as units.
size_t batch_units_of_content(const ClusterState *state);
// How many more units it takes of what the leader does by itself.
size_t batch_builder_units_left(const BatchBuilder *b);

enum {
        BATCH_BUMP_START = 1 << 0,
        BATCH_BUMP_RESTART = 1 << 1,
        BATCH_BUMP_STOP = 1 << 2,
        BATCH_BUMP_SECRETS = 1 << 3, // the newest versions that there are
};

// All of these: 0 or -ENOMEM (then roll back), -EPROTONOSUPPORT for what is beyond feature_level: our own
// mistake, -EDQUOT for what no voter would carry out (cluster-state-limits.h; roll back, too). What they are
// given is borrowed.
int batch_builder_put_unit(BatchBuilder *b, Argosy__UnitRecord *record, unsigned bump, uint64_t if_revision);
int batch_builder_remove_unit(BatchBuilder *b, const char *name);
// -EDQUOT: b is as before.
int batch_builder_put_tombstone(BatchBuilder *b, const char *name, const uint32_t *nodes, size_t n,
                                uint64_t fence_us);
int batch_builder_clear_tombstones(BatchBuilder *b, uint32_t host, uint64_t revision, uint64_t fence_us);
int batch_builder_put_spec(BatchBuilder *b, const Hash *hash, const void *content,
                           size_t len); // only once for each hash
// that the next content names
int batch_builder_put_file(BatchBuilder *b, const Hash *hash, const void *content, size_t len);
bool batch_builder_has_spec(const BatchBuilder *b, const Hash *hash);
// What the batch has of that hash, as an entry of one operation that is freed with message_free(); NULL: it
// has none. 0 or -ENOMEM.
int batch_builder_read_spec(const BatchBuilder *b, const Hash *hash, Argosy__LogBatch **ret);
int batch_builder_put_host(BatchBuilder *b, Argosy__HostRecord *record);
int batch_builder_remove_host(BatchBuilder *b, uint32_t host);
int batch_builder_put_token(BatchBuilder *b, Argosy__TokenRecord *record);
int batch_builder_put_outcome(BatchBuilder *b, const char *name, Argosy__Outcome *outcome);
int batch_builder_put_rollout(BatchBuilder *b, Argosy__RolloutRecord *record);
int batch_builder_put_role(BatchBuilder *b, Argosy__RoleRecord *record);
int batch_builder_remove_role(BatchBuilder *b, const char *name);
int batch_builder_put_pool(BatchBuilder *b, Argosy__PoolRecord *record);
int batch_builder_remove_pool(BatchBuilder *b, const char *name);
int batch_builder_put_cluster(BatchBuilder *b, Argosy__ClusterRecord *record); // -EBUSY: the batch has one
                                                                               // already
int batch_builder_change_access(BatchBuilder *b, Argosy__GrantRecord *grant, bool revoke);
int batch_builder_put_access_token(BatchBuilder *b, Argosy__AccessTokenRecord *token);
int batch_builder_end_access_token(BatchBuilder *b, const char *id, uint64_t at_us, const char *by);
// of no right
int batch_builder_note_access_token_uses(BatchBuilder *b, Argosy__LogOp__AccessTokenUses *uses);
int batch_builder_put_secret(BatchBuilder *b, const char *name, Argosy__SecretVersion *version);
int batch_builder_remove_secret(BatchBuilder *b, const char *name);
int batch_builder_prune_secret(BatchBuilder *b, const char *name, uint64_t *versions, size_t n);
int batch_builder_reseal_secret(BatchBuilder *b, const char *name, Argosy__SecretVersion **versions,
                                size_t n);
int batch_builder_forget_specs(BatchBuilder *b, ProtobufCBinaryData *hashes, size_t n);
// Puts the job; call it after the job's own operations.
int batch_builder_put_job(BatchBuilder *b, Argosy__LogOp__JobPut *put);
int batch_builder_end_jobs(BatchBuilder *b, Argosy__LogOp__JobEnds *ends);
int batch_builder_release_request(BatchBuilder *b, uint64_t job, bool past_rules);
int batch_builder_put_time_set(BatchBuilder *b, uint64_t to_us);
int batch_builder_put_queue(BatchBuilder *b, Argosy__QueueRecord *record);
int batch_builder_set_time(BatchBuilder *b, uint64_t at_us, uint64_t counted_us); // as in LogBatch

// Reserves a word that must not be used twice in one batch, without an operation. -EBUSY: it is reserved.
int batch_builder_claim(BatchBuilder *b, const void *data, size_t len);
bool batch_builder_has_claim(const BatchBuilder *b, const void *data, size_t len);

// Notes, without an operation, that the unit is about to have other dependencies than the log says; twice is
// once.
int batch_builder_note_order(BatchBuilder *b, const char *name);
bool batch_builder_has_order(const BatchBuilder *b, const char *name);

// Whether a unit is put that is to be on one of the nodes that the host has in that state. Looks at each
// unit of the batch once.
bool batch_builder_gives_host(const BatchBuilder *b, const ClusterState *state, uint32_t host);
bool batch_builder_has_unit(const BatchBuilder *b, const char *name);
// True if the batch puts the unit: its target then, and its node, 0 if it has none or is global.
bool batch_builder_find_unit(const BatchBuilder *b, const char *name, Argosy__Target *ret_target,
                             uint32_t *ret_node);
bool batch_builder_has_rollout(const BatchBuilder *b, const char *name);
bool batch_builder_has_role(const BatchBuilder *b, const char *name);
int batch_builder_use_role(BatchBuilder *b, const char *name); // a unit in it is of this role; no operation
bool batch_builder_uses_role(const BatchBuilder *b, const char *name);
bool batch_builder_has_secret(const BatchBuilder *b, const char *name); // it is set, or deleted
// a unit in it has this secret; no operation
int batch_builder_use_secret(BatchBuilder *b, const char *name);
bool batch_builder_uses_secret(const BatchBuilder *b, const char *name);
bool batch_builder_has_pool(const BatchBuilder *b, const char *name);
bool batch_builder_has_access(const BatchBuilder *b); // a right is given or taken back, also with a token
bool batch_builder_has_queue(const BatchBuilder *b);
bool batch_builder_has_cluster(const BatchBuilder *b);
bool batch_builder_has_host(const BatchBuilder *b, uint32_t host);
// Calls `each` for the units that the batch touches, until it returns true; returns whether it did.
bool batch_builder_each_unit(const BatchBuilder *b, bool (*each)(const char *name, void *userdata),
                             void *userdata);
// Whether the unit was touched after `mark`.
bool batch_builder_has_unit_since(const BatchBuilder *b, const char *name, BatchBuilderMark mark);
// how many were touched after it
size_t batch_builder_units_since(const BatchBuilder *b, BatchBuilderMark mark);
