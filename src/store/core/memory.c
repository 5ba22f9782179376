// SPDX-License-Identifier: LGPL-2.1-or-later

// A log in memory with one member, for tests and simulation. It keeps the contract of include/store.h to the
// letter: nothing is called back from inside a call, batches are applied in order, everything accepted is
// answered once.
//
// Operations wait in one list. The drain takes the list as it is and finishes each operation, so what a
// callback submits is committed a turn later. Losing leadership turns what waits into STORE_UNKNOWN, which
// is never applied.

#include <errno.h>
#include <stdlib.h>

#include "list.h"
#include "process-end.h"
#include "store-impl.h"
#include "uvx.h"

typedef enum OpKind { OP_BATCH, OP_BARRIER, OP_ADD, OP_REMOVE, OP_TRANSFER } OpKind;

typedef struct Op {
        ListNode node;
        OpKind kind;
        bool lost; // leadership went away after it was accepted
        uint32_t raft_id;
        union {
                StoreDone done;
                StoreMemberDone member_done;
        };
        void *userdata;
        size_t len;
        uint8_t data[];
} Op;

typedef struct MemoryStore {
        Store store;
        Drain drain;
        ListNode ops;
        size_t n_pending; // batches and barriers
        bool changing, closing;
        bool leading, role_notified, complete_notified;
        int fail;
        uint64_t authority_us; // 0: always
        bool authority_notified;
        uint64_t term, index;
        uint32_t members[STORE_MEMBERS_MAX];
        size_t n_members;
        void (*closed)(void *userdata);
        void *closed_data;
} MemoryStore;

static void op_finish(MemoryStore *m, Op *op) {
        bool lost = op->lost || m->closing || !m->leading;
        uint64_t index = 0;

        list_unlink(&op->node);
        switch (op->kind) {
        case OP_BATCH:
        case OP_BARRIER:
                m->n_pending--;
                if (!lost)
                        index = ++m->index;
                if (!lost && op->kind == OP_BATCH &&
                    m->store.ops->apply(index, op->data, op->len, m->store.userdata) < 0) {
                        m->store.ops->fatal("a committed batch could not be applied", m->store.userdata);
                        process_end(EXIT_FAILURE);
                }
                op->done(lost ? STORE_UNKNOWN : STORE_COMMITTED, index, op->userdata);
                break;
        case OP_ADD:
                m->changing = false;
                if (!lost)
                        m->members[m->n_members++] = op->raft_id;
                op->member_done(m->closing ? -ECANCELED : lost ? -EAGAIN : 0, op->userdata);
                break;
        case OP_REMOVE:
                m->changing = false;
                for (size_t i = 0; i < m->n_members && !lost; i++)
                        if (m->members[i] == op->raft_id)
                                m->members[i--] = m->members[--m->n_members];
                op->member_done(m->closing ? -ECANCELED : lost ? -EAGAIN : 0, op->userdata);
                break;
        case OP_TRANSFER:
                m->changing = false;
                if (!lost && !m->closing)
                        store_memory_lead(&m->store, false);
                op->member_done(m->closing ? -ECANCELED : 0, op->userdata);
                break;
        }
        free(op);
}

static void finish_all(MemoryStore *m) {
        ListNode now = LIST_INIT(now);

        list_splice(&now, &m->ops);
        while (!list_is_empty(&now))
                op_finish(m, CONTAINER_OF(now.next, Op, node));
}

static void on_drain(void *userdata) {
        MemoryStore *m = userdata;

        if (!m->complete_notified && m->store.ops->complete)
                m->store.ops->complete(m->store.userdata);
        m->complete_notified = true;
        if (!m->role_notified) {
                m->role_notified = true;
                m->store.ops->role(m->leading ? STORE_LEADER : STORE_FOLLOWER,
                                   (StoreLeader){.raft_id = m->leading ? 1 : 0, .term = m->term},
                                   m->store.userdata);
        }
        if (!m->authority_notified && m->store.ops->authority)
                m->store.ops->authority(m->store.userdata);
        m->authority_notified = true;
        if (!m->closing) // else they are answered when the drain is closed
                finish_all(m);
}

static int accepts(const MemoryStore *m) {
        if (m->closing)
                return -ESHUTDOWN;
        if (m->fail)
                return m->fail;
        return m->leading ? 0 : -EAGAIN;
}

static Op *op_add(MemoryStore *m, OpKind kind, const void *data, size_t len, void *userdata) {
        Op *op = malloc(sizeof(*op) + len);

        if (!op)
                return NULL;
        *op = (Op){.kind = kind, .userdata = userdata, .len = len};
        if (len > 0)
                memcpy(op->data, data, len);
        list_append(&m->ops, &op->node);
        drain_mark(&m->drain);
        return op;
}

static int add_pending(MemoryStore *m, OpKind kind, const void *data, size_t len, StoreDone done,
                       void *userdata) {
        int r = accepts(m);
        Op *op;

        if (r < 0)
                return r;
        if (m->n_pending >= STORE_PENDING_MAX)
                return -EBUSY;
        op = op_add(m, kind, data, len, userdata);
        if (!op)
                return -ENOMEM;
        op->done = done;
        m->n_pending++;
        return 0;
}

static int memory_submit(Store *s, const void *data, size_t len, StoreDone done, void *userdata) {
        return add_pending(CONTAINER_OF(s, MemoryStore, store), OP_BATCH, data, len, done, userdata);
}

static int memory_barrier(Store *s, StoreDone done, void *userdata) {
        return add_pending(CONTAINER_OF(s, MemoryStore, store), OP_BARRIER, NULL, 0, done, userdata);
}

static bool is_member(const MemoryStore *m, uint32_t raft_id) {
        for (size_t i = 0; i < m->n_members; i++)
                if (m->members[i] == raft_id)
                        return true;
        return false;
}

static int add_change(MemoryStore *m, OpKind kind, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        Op *op;

        if (m->changing)
                return -EBUSY;
        op = op_add(m, kind, NULL, 0, userdata);
        if (!op)
                return -ENOMEM;
        op->raft_id = raft_id;
        op->member_done = done;
        m->changing = true;
        return 0;
}

static int memory_member_add(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        MemoryStore *m = CONTAINER_OF(s, MemoryStore, store);
        int r = accepts(m);

        if (r < 0)
                return r;
        if (is_member(m, raft_id))
                return -EEXIST;
        if (m->n_members == STORE_MEMBERS_MAX)
                return -ENOSPC;
        return add_change(m, OP_ADD, raft_id, done, userdata);
}

static int memory_member_remove(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        MemoryStore *m = CONTAINER_OF(s, MemoryStore, store);
        int r = accepts(m);

        if (r < 0)
                return r;
        if (!is_member(m, raft_id))
                return -ENOENT;
        if (m->n_members == 1)
                return -EPERM;
        return add_change(m, OP_REMOVE, raft_id, done, userdata);
}

static int memory_transfer(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata) {
        MemoryStore *m = CONTAINER_OF(s, MemoryStore, store);
        int r = accepts(m);

        if (r < 0)
                return r;
        if (raft_id == 1 || (raft_id == 0 ? m->n_members < 2 : !is_member(m, raft_id)))
                return -ENOENT;
        return add_change(m, OP_TRANSFER, raft_id, done, userdata);
}

static void memory_stats(const Store *s, StoreStats *ret) {
        const MemoryStore *m = CONTAINER_OF(s, MemoryStore, store);

        *ret = (StoreStats){
                .role = m->leading ? STORE_LEADER : STORE_FOLLOWER,
                .term = m->term,
                .last_index = m->index,
                .commit_index = m->index,
                .applied_index = m->index,
                .leader_raft_id = m->leading ? 1 : 0,
                .n_members = m->n_members,
        };
        for (size_t i = 0; i < m->n_members; i++)
                ret->members[i] = (StoreMember){
                        .raft_id = m->members[i],
                        .voter = true,
                        .match_index = m->leading ? m->index : 0,
                        .answers = m->leading,
                        .caught_up = m->leading,
                };
}

static void memory_recheck(Store *s) {
}

static uint64_t memory_authority_until(Store *s) {
        const MemoryStore *m = CONTAINER_OF(s, MemoryStore, store);

        return !m->leading ? 0 : m->authority_us ?: UINT64_MAX;
}

static void memory_accept(Store *s, Stream *stream, uint32_t raft_id) {
        assert(!"a log in memory has no peers");
}

static void on_closed(uv_handle_t *h) {
        MemoryStore *m = CONTAINER_OF(CONTAINER_OF((uv_idle_t *) h, Drain, idle), MemoryStore, drain);
        finish_all(m);
        if (m->closed)
                m->closed(m->closed_data);
        free(m);
}

static void memory_close(Store *s, void (*closed)(void *userdata), void *userdata) {
        MemoryStore *m = CONTAINER_OF(s, MemoryStore, store);

        assert(!m->closing);
        m->closing = true;
        m->closed = closed;
        m->closed_data = userdata;
        drain_close(&m->drain, on_closed);
}

static const StoreImpl memory_impl = {
        .close = memory_close,
        .accept = memory_accept,
        .recheck = memory_recheck,
        .submit = memory_submit,
        .barrier = memory_barrier,
        .member_add = memory_member_add,
        .member_remove = memory_member_remove,
        .transfer = memory_transfer,
        .stats = memory_stats,
        .authority_until = memory_authority_until,
};

int store_open_memory(uv_loop_t *loop, const StoreOps *ops, void *userdata, Store **ret) {
        _cleanup_free_ MemoryStore *m = malloc(sizeof(*m));
        int r;

        if (!m)
                return -ENOMEM;
        *m = (MemoryStore){
                .store = {.impl = &memory_impl, .ops = ops, .userdata = userdata},
                .leading = true,
                .authority_notified = true,
                .term = 1,
                .members = {1},
                .n_members = 1,
        };
        list_init(&m->ops);
        r = drain_init(&m->drain, loop, on_drain, m);
        if (r < 0)
                return r;
        drain_mark(&m->drain); // the first role()
        *ret = &TAKE_PTR(m)->store;
        return 0;
}

void store_memory_lead(Store *s, bool lead) {
        MemoryStore *m = CONTAINER_OF(s, MemoryStore, store);

        assert(s->impl == &memory_impl);
        if (m->leading == lead)
                return;
        m->leading = lead;
        m->role_notified = false;
        if (lead)
                m->term++;
        else
                list_foreach (n, &m->ops)
                        CONTAINER_OF(n, Op, node)->lost = true;
        drain_mark(&m->drain);
}

void store_memory_authority(Store *s, uint64_t until_us) {
        MemoryStore *m = CONTAINER_OF(s, MemoryStore, store);

        assert(s->impl == &memory_impl);
        m->authority_us = until_us;
        m->authority_notified = false;
        drain_mark(&m->drain);
}

void store_memory_fail(Store *s, int error) {
        MemoryStore *m = CONTAINER_OF(s, MemoryStore, store);

        assert(s->impl == &memory_impl);
        m->fail = error;
}
