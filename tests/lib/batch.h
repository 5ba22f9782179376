// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Batches of the log, built in a line per operation, for tests of whatever applies them. Everything that a
// batch refers to lives until batch_done(). Running out of memory ends the test.
//
//      _cleanup_(batch_done) Batch b = {0};
//      batch_host(&b, 0, "one", 1);
//      batch_unit(&b, "web.service", "[Service]\n", (UnitPut){.target = LAUNCHED, .node = 1, .start =
//      true}); apply(state, &b);

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "argosy.pb-c.h"
#include "array.h"
#include "cluster-state.h"
#include "hash.h"
#include "macro.h"

#define INACTIVE ARGOSY__TARGET__TARGET_INACTIVE
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED

typedef struct Batch {
        Argosy__LogBatch log;
        void **owned;
        size_t n_owned, owned_room, ops_room;
} Batch;

typedef struct UnitPut {
        Argosy__Target target;
        uint32_t node;
        bool global, start, restart, stop;
        uint64_t if_revision;
} UnitPut;

static inline void batch_done(Batch *b) {
        for (size_t i = 0; i < b->n_owned; i++)
                free(b->owned[i]);
        free(b->owned);
        free(b->log.ops);
        *b = (Batch){0};
}

static inline void *batch_own(Batch *b, void *p) {
        assert(p);
        if (ARRAY_GROW(b->owned, b->owned_room, b->n_owned + 1) < 0)
                abort();
        return b->owned[b->n_owned++] = p;
}

// What a leader says of an entry that is made at that time, when its clock and all before it were right.
static inline void batch_set_time(Batch *b, const ClusterState *s, uint64_t at_us) {
        b->log.at_us = at_us;
        b->log.counted_us = at_us > cluster_state_time_us(s) ? at_us - cluster_state_time_us(s) : 0;
}

#define BATCH_NEW(b, type, init)                                 \
        ({                                                       \
                type *_new = batch_own(b, malloc(sizeof(type))); \
                init(_new);                                      \
                _new;                                            \
        })

static inline ProtobufCBinaryData batch_bytes(Batch *b, const void *data, size_t len) {
        return (ProtobufCBinaryData){len, memcpy(batch_own(b, malloc(len + 1)), data, len)};
}

static inline Argosy__LogOp *batch_op(Batch *b, Argosy__LogOp__OpCase op_case) {
        Argosy__LogOp *op = BATCH_NEW(b, Argosy__LogOp, argosy__log_op__init);

        if (!b->log.base.descriptor)
                argosy__log_batch__init(&b->log);
        op->op_case = op_case;
        if (ARRAY_GROW(b->log.ops, b->ops_room, b->log.n_ops + 1) < 0)
                abort();
        return b->log.ops[b->log.n_ops++] = op;
}

static inline Hash batch_spec(Batch *b, const char *content) {
        Argosy__Spec *spec = BATCH_NEW(b, Argosy__Spec, argosy__spec__init);
        Hash hash = hash_of(content, strlen(content));

        spec->hash = batch_bytes(b, &hash, sizeof hash);
        spec->content = batch_bytes(b, content, strlen(content));
        batch_op(b, ARGOSY__LOG_OP__OP_SPEC)->spec = spec;
        return hash;
}

// The unit alone; its spec must be known.
static inline Argosy__UnitRecord *batch_unit_only(Batch *b, const char *name, const Hash *spec,
                                                  UnitPut how) {
        Argosy__LogOp__UnitPut *put = BATCH_NEW(b, Argosy__LogOp__UnitPut, argosy__log_op__unit_put__init);
        Argosy__UnitRecord *unit = BATCH_NEW(b, Argosy__UnitRecord, argosy__unit_record__init);

        unit->name = batch_own(b, strdup(name));
        unit->spec = batch_bytes(b, spec, sizeof *spec);
        unit->target = how.target;
        unit->node = how.node;
        unit->global = how.global;
        put->unit = unit;
        put->bump_start = how.start;
        put->bump_restart = how.restart;
        put->bump_stop = how.stop;
        put->if_revision = how.if_revision;
        batch_op(b, ARGOSY__LOG_OP__OP_UNIT)->unit = put;
        return unit;
}

static inline void batch_unit(Batch *b, const char *name, const char *content, UnitPut how) {
        Hash spec = batch_spec(b, content);

        batch_unit_only(b, name, &spec, how);
}

static inline void batch_unit_remove(Batch *b, const char *name) {
        Argosy__LogOp__UnitRemove *remove =
                BATCH_NEW(b, Argosy__LogOp__UnitRemove, argosy__log_op__unit_remove__init);

        remove->name = batch_own(b, strdup(name));
        batch_op(b, ARGOSY__LOG_OP__OP_UNIT_REMOVE)->unit_remove = remove;
}

static inline uint32_t *batch_numbers(Batch *b, const uint32_t *numbers, size_t n) {
        uint32_t *copy = batch_own(b, malloc((n + 1) * sizeof *copy));

        if (n > 0)
                memcpy(copy, numbers, n * sizeof *copy);
        return copy;
}

// Removes the unit, and leaves tombstones on these nodes.
static inline void batch_unit_remove_from(Batch *b, const char *name, const uint32_t *nodes, size_t n,
                                          uint64_t fence_us) {
        Argosy__LogOp__UnitRemove *remove =
                BATCH_NEW(b, Argosy__LogOp__UnitRemove, argosy__log_op__unit_remove__init);

        remove->name = batch_own(b, strdup(name));
        remove->nodes = batch_numbers(b, nodes, n);
        remove->n_nodes = n;
        remove->fence_us = fence_us;
        batch_op(b, ARGOSY__LOG_OP__OP_UNIT_REMOVE)->unit_remove = remove;
}

static inline void batch_tombstone(Batch *b, const char *name, const uint32_t *nodes, size_t n,
                                   uint64_t fence_us) {
        Argosy__LogOp__TombstonePut *put =
                BATCH_NEW(b, Argosy__LogOp__TombstonePut, argosy__log_op__tombstone_put__init);

        put->name = batch_own(b, strdup(name));
        put->nodes = batch_numbers(b, nodes, n);
        put->n_nodes = n;
        put->fence_us = fence_us;
        batch_op(b, ARGOSY__LOG_OP__OP_TOMBSTONE)->tombstone = put;
}

static inline void batch_tombstone_clear(Batch *b, uint32_t host, uint64_t revision, uint64_t fence_us) {
        Argosy__LogOp__TombstoneClear *clear =
                BATCH_NEW(b, Argosy__LogOp__TombstoneClear, argosy__log_op__tombstone_clear__init);

        clear->host = host;
        clear->revision = revision;
        clear->fence_us = fence_us;
        batch_op(b, ARGOSY__LOG_OP__OP_TOMBSTONE_CLEAR)->tombstone_clear = clear;
}

static inline void batch_outcome(Batch *b, const char *name, uint32_t node, uint64_t start_rev,
                                 Argosy__Outcome__Kind kind) {
        Argosy__LogOp__OutcomePut *put =
                BATCH_NEW(b, Argosy__LogOp__OutcomePut, argosy__log_op__outcome_put__init);
        Argosy__Outcome *outcome = BATCH_NEW(b, Argosy__Outcome, argosy__outcome__init);

        outcome->kind = kind;
        outcome->node = node;
        outcome->start_rev = start_rev;
        outcome->result = batch_own(b, strdup("success"));
        put->name = batch_own(b, strdup(name));
        put->outcome = outcome;
        batch_op(b, ARGOSY__LOG_OP__OP_OUTCOME)->outcome = put;
}

// A host with n_nodes nodes, numbered 0 (to be given a number); its pin, host id and machine id follow from
// its name.
static inline Argosy__HostRecord *batch_host(Batch *b, uint32_t host, const char *name, size_t n_nodes) {
        Argosy__HostRecord *record = BATCH_NEW(b, Argosy__HostRecord, argosy__host_record__init);
        Hash hash = hash_of(name, strlen(name));
        char hex[HASH_HEX_SIZE];

        hash_hex(&hash, 16, hex);
        record->host = host;
        record->name = batch_own(b, strdup(name));
        record->address = batch_own(b, strdup("192.0.2.1"));
        record->machine_id = batch_own(b, strdup(hex));
        record->host_id = batch_bytes(b, hash.bytes + 16, 16);
        record->key_pin = batch_bytes(b, &hash, sizeof hash);
        record->nodes = batch_own(b, calloc(n_nodes + 1, sizeof *record->nodes));
        for (size_t i = 0; i < n_nodes; i++) {
                record->nodes[i] = BATCH_NEW(b, Argosy__NodeRecord, argosy__node_record__init);
                record->nodes[i]->manager = batch_own(b, strdup(i == 0 ? "system" : "user@1000"));
        }
        record->n_nodes = n_nodes;
        batch_op(b, ARGOSY__LOG_OP__OP_HOST)->host = record;
        return record;
}

static inline void batch_host_remove(Batch *b, uint32_t host) {
        Argosy__LogOp__HostRemove *remove =
                BATCH_NEW(b, Argosy__LogOp__HostRemove, argosy__log_op__host_remove__init);

        remove->host = host;
        batch_op(b, ARGOSY__LOG_OP__OP_HOST_REMOVE)->host_remove = remove;
}

// An update from one content to another, which must be known; NULL: none of the two (it has ended).
static inline Argosy__RolloutRecord *batch_rollout(Batch *b, const char *name, const char *from,
                                                   const char *to) {
        Argosy__RolloutRecord *r = BATCH_NEW(b, Argosy__RolloutRecord, argosy__rollout_record__init);
        Hash hash;

        r->name = batch_own(b, strdup(name));
        r->kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        r->phase = from ? ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING : ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE;
        if (from) {
                hash = hash_of(from, strlen(from));
                r->spec_before = batch_bytes(b, &hash, sizeof hash);
                hash = hash_of(to, strlen(to));
                r->spec = batch_bytes(b, &hash, sizeof hash);
        }
        batch_op(b, ARGOSY__LOG_OP__OP_ROLLOUT)->rollout = r;
        return r;
}

static inline void batch_token(Batch *b, const char *id, uint64_t expires_us) {
        Argosy__TokenRecord *token = BATCH_NEW(b, Argosy__TokenRecord, argosy__token_record__init);

        token->id = batch_own(b, strdup(id));
        token->expires_us = expires_us;
        batch_op(b, ARGOSY__LOG_OP__OP_TOKEN)->token = token;
}

static inline void batch_token_remove(Batch *b, const char *id) {
        Argosy__LogOp__TokenRemove *remove =
                BATCH_NEW(b, Argosy__LogOp__TokenRemove, argosy__log_op__token_remove__init);

        remove->id = batch_own(b, strdup(id));
        batch_op(b, ARGOSY__LOG_OP__OP_TOKEN_REMOVE)->token_remove = remove;
}

static inline void batch_cluster(Batch *b, uint64_t generation) {
        Argosy__ClusterRecord *cluster = BATCH_NEW(b, Argosy__ClusterRecord, argosy__cluster_record__init);

        cluster->generation = generation;
        batch_op(b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = cluster;
}

typedef struct JobPut {
        const char *verb;
        uint32_t n_ops;
        uint64_t number; // that goes on
        bool more;
        uint64_t content;
        const void *id; // 16 bytes; NULL: none
} JobPut;

// Of the operations before it.
static inline Argosy__JobRecord *batch_job(Batch *b, JobPut how) {
        Argosy__LogOp__JobPut *put = BATCH_NEW(b, Argosy__LogOp__JobPut, argosy__log_op__job_put__init);

        put->job = BATCH_NEW(b, Argosy__JobRecord, argosy__job_record__init);
        put->job->verb = batch_own(b, strdup(how.verb ? how.verb : "start"));
        put->n_ops = how.n_ops;
        put->number = how.number;
        put->more = how.more;
        put->content = how.content;
        if (how.id)
                put->id = batch_bytes(b, how.id, 16);
        batch_op(b, ARGOSY__LOG_OP__OP_JOB)->job = put;
        return put->job;
}

static inline void batch_spec_forget(Batch *b, const char *content) {
        Argosy__LogOp__SpecForget *forget =
                BATCH_NEW(b, Argosy__LogOp__SpecForget, argosy__log_op__spec_forget__init);
        Hash hash = hash_of(content, strlen(content));

        forget->hashes = batch_own(b, malloc(sizeof *forget->hashes));
        forget->hashes[0] = batch_bytes(b, &hash, sizeof hash);
        forget->n_hashes = 1;
        batch_op(b, ARGOSY__LOG_OP__OP_SPEC_FORGET)->spec_forget = forget;
}

// A job of no operation; `id`: the 16 bytes of its key are all this number.
static inline void batch_request(Batch *b, uint8_t id) {
        uint8_t bytes[16];

        memset(bytes, id, sizeof bytes);
        (void) batch_job(b, (JobPut){.id = bytes});
}
