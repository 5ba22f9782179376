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

typedef struct KeySet {
        Map map;
        void **keys; // in the order in which they were added
        size_t n, allocated;
} KeySet;

typedef struct Batch {
        Buf packed;
        KeySet touched; // 'u' NAME, 's' HASH, 'h' NUMBER, 'r' REQUEST ID, 'c' CLAIM
        size_t n_ops;
} Batch;

typedef struct BatchMark {
        size_t len, n_touched, n_ops;
} BatchMark;

void batch_done(Batch *b);
BatchMark batch_mark(const Batch *b);
void batch_rollback(Batch *b, BatchMark mark);

enum {
        BATCH_BUMP_START = 1 << 0,
        BATCH_BUMP_RESTART = 1 << 1,
        BATCH_BUMP_STOP = 1 << 2,
};

// All of these: 0 or -ENOMEM (then roll back). What they are given is borrowed.
int batch_put_unit(Batch *b, Argosy__UnitRecord *record, unsigned bump, uint64_t if_revision);
int batch_remove_unit(Batch *b, const char *name);
int batch_put_spec(Batch *b, const Hash *hash, const void *content, size_t len); // only once for each hash
int batch_put_host(Batch *b, Argosy__HostRecord *record);
int batch_remove_host(Batch *b, uint32_t host);
int batch_put_token(Batch *b, Argosy__TokenRecord *record);
int batch_remove_token(Batch *b, const char *id);
int batch_put_outcome(Batch *b, const char *name, Argosy__Outcome *outcome);
int batch_put_cluster(Batch *b, Argosy__ClusterRecord *record);
int batch_add_request(Batch *b, const void *id, size_t len);
int batch_set_time(Batch *b, uint64_t at_us);

// Reserves a word that must not be used twice in one batch, without an operation. -EBUSY: it is reserved.
int batch_claim(Batch *b, const void *data, size_t len);

bool batch_has_unit(const Batch *b, const char *name);
bool batch_has_host(const Batch *b, uint32_t host);
bool batch_has_request(const Batch *b, const void *id, size_t len);
// Whether the unit was touched after `mark`.
bool batch_has_unit_since(const Batch *b, const char *name, BatchMark mark);
