// SPDX-License-Identifier: LGPL-2.1-or-later

// Batches and barriers. A Pending lives from the call until its `done`, which libraft's completion fires
// from the loop.
//
// Barriers that are asked for in one turn of the loop share one entry of the log: a hundred hosts that come
// back at once cost one.

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "raft-store.h"

typedef struct Pending {
        ListNode node;
        RaftStore *owner;
        StoreDone done;
        void *userdata;
        BatchId id;
        bool applied; // apply() of this very batch ran here
        uint64_t submitted_us;
        struct raft_apply apply;
} Pending;

// One raft_barrier for all that waited when it was made.
typedef struct Barrier {
        RaftStore *owner;
        ListNode waiting;
        struct raft_barrier barrier;
} Barrier;

static StoreOutcome outcome_of(int status) {
        switch (status) {
        case 0:
                return STORE_COMMITTED;
        case RAFT_NOSPACE:
                return STORE_NO_SPACE;
        default: // RAFT_LEADERSHIPLOST, RAFT_CANCELED, RAFT_SHUTDOWN: may still be committed by the next
                 // leader
                return STORE_UNKNOWN;
        }
}

static void pending_finish(Pending *p, StoreOutcome outcome, uint64_t index) {
        list_unlink(&p->node);
        p->owner->n_pending--;
        p->done(outcome, outcome == STORE_COMMITTED ? index : 0, p->userdata);
        free(p);
}

static Pending *pending_new(RaftStore *s, StoreDone done, void *userdata) {
        Pending *p = malloc(sizeof(*p));

        if (!p)
                return NULL;
        *p = (Pending){
                .owner = s,
                .done = done,
                .userdata = userdata,
                .id = {.run = s->run, .seq = s->next_seq},
        };
        list_init(&p->node);
        return p;
}

int raft_store_takes_requests(const RaftStore *s) {
        assert(!s->inside); // apply, snapshot and restore must not call the store

        if (s->closing)
                return -ESHUTDOWN;
        return s->announced && s->role == STORE_LEADER && raft_state((struct raft *) &s->raft) == RAFT_LEADER
                       ? 0
                       : -EAGAIN;
}

static int takes_pending(const RaftStore *s) {
        int r = raft_store_takes_requests(s);

        if (r < 0)
                return r;
        return s->n_pending >= STORE_PENDING_MAX ? -EBUSY : 0;
}

void raft_store_note_applied(RaftStore *s, BatchId id) {
        if (id.run != s->run)
                return;
        list_foreach (n, &s->pending) {
                Pending *p = CONTAINER_OF(n, Pending, node);

                if (batch_id_equal(p->id, id)) {
                        p->applied = true;
                        return;
                }
        }
}

static void on_apply_done(struct raft_apply *req, int status, void *result) {
        Pending *p = req->data;

        // Guard 1: what is reported as committed is what apply() saw. Test: store/raft,
        // a_batch_is_applied_before_it_is_reported.
        if (status == 0 && !p->applied)
                raft_store_fatal(p->owner, "the log reports a batch as committed that was never applied");
        if (status == 0)
                time_histogram_add(&p->owner->commits, clock_monotonic_us() - p->submitted_us);
        pending_finish(p, outcome_of(status), req->index);
}

int raft_store_submit(Store *store, const void *data, size_t len, StoreDone done, void *userdata) {
        RaftStore *s = raft_store(store);
        _cleanup_free_ Pending *p = NULL;
        struct raft_buffer record;
        int r = takes_pending(s);

        if (r < 0)
                return r;
        p = pending_new(s, done, userdata);
        record.len = batch_record_size(len);
        record.base = p ? raft_malloc(record.len) : NULL;
        if (!record.base)
                return -ENOMEM;
        batch_record_encode(p->id, data, len, record.base);
        p->apply.data = p;
        p->submitted_us = clock_monotonic_us();

        // Guard 1: one buffer per call; libraft 0.22.1 drops all but the first.
        s->inside = true;
        r = raft_apply(&s->raft, &p->apply, &record, 1, on_apply_done);
        s->inside = false;
        if (r == RAFT_NOTLEADER ||
            r == RAFT_NOSPACE) { // the only failures that leave buffer and log as they were
                raft_free(record.base);
                return raft_store_errno(r);
        }
        if (r != 0)
                raft_store_fatal(s, "the log failed to take a batch: %s", raft_strerror(r));
        s->next_seq++;
        s->n_pending++;
        list_append(&s->pending, &p->node);
        TAKE_PTR(p);
        return 0;
}

// ---- barriers

static void barrier_finish(Barrier *b, StoreOutcome outcome, uint64_t index) {
        while (!list_is_empty(&b->waiting))
                pending_finish(CONTAINER_OF(b->waiting.next, Pending, node), outcome, index);
        free(b);
}

static void on_barrier_done(struct raft_barrier *req, int status) {
        barrier_finish(req->data, outcome_of(status), req->index);
}

int raft_store_barrier(Store *store, StoreDone done, void *userdata) {
        RaftStore *s = raft_store(store);
        int r = takes_pending(s);
        Pending *p;

        if (r < 0)
                return r;
        p = pending_new(s, done, userdata);
        if (!p)
                return -ENOMEM;
        s->n_pending++;
        list_append(&s->barriers, &p->node);
        drain_mark(&s->drain);
        return 0;
}

static StoreOutcome barrier_refusal(int r) {
        return r == RAFT_NOSPACE ? STORE_NO_SPACE : r == RAFT_NOTLEADER ? STORE_NOT_LEADER : STORE_UNKNOWN;
}

void raft_store_flush_barriers(RaftStore *s) {
        Barrier *b;
        int r;

        if (list_is_empty(&s->barriers))
                return;
        b = malloc(sizeof(*b));
        if (!b)
                raft_store_fatal(s, "out of memory");
        *b = (Barrier){.owner = s, .barrier.data = b};
        list_init(&b->waiting);
        list_splice(&b->waiting, &s->barriers);
        if (s->closing) {
                barrier_finish(b, STORE_UNKNOWN, 0);
                return;
        }
        s->inside = true;
        r = raft_barrier(&s->raft, &b->barrier, on_barrier_done);
        s->inside = false;
        if (r != 0)
                barrier_finish(b, barrier_refusal(r), 0);
}
