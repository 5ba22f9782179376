// SPDX-License-Identifier: LGPL-2.1-or-later

// Batches and barriers. A Pending lives from the call until its `done`, which libraft's completion fires
// from the loop.
//
// Barriers that are asked for in one turn of the loop share one entry of the log: a hundred hosts that come
// back at once cost one.
//
// Guard 21. libraft takes nothing while most voters say that they have little room, and room is what is left
// of the segments that a voter has prepared: one that has just filled a segment says so for the moment in
// which the next is made, on an empty disk, too. So what is refused waits, in order, and is tried in each
// turn of the loop; a tick at the latest brings one. What the disks have no room for STORE_FULL_MS is
// refused, and from then on whatever comes is refused at once, until libraft takes something. Nothing that
// waits is in the log: what becomes of it is certain.

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
        uint64_t term;             // in which it was asked for
        struct raft_buffer record; // of a batch that libraft does not have
        struct raft_apply apply;
} Pending;

// One raft_barrier for all that waited when it was made.
typedef struct Barrier {
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
        raft_free(p->record.base);
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
                .term = raft_current_term(&s->raft),
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

// Whether the error left buffer and log as they were.
static bool is_refusal(int r) {
        return r == RAFT_NOTLEADER || r == RAFT_NOSPACE;
}

static int give_batch(RaftStore *s, Pending *p) {
        int r;

        // Guard 1: one buffer per call; libraft 0.22.1 drops all but the first.
        s->inside = true;
        r = raft_apply(&s->raft, &p->apply, &p->record, 1, on_apply_done);
        s->inside = false;
        if (is_refusal(r))
                return r;
        if (r != 0)
                raft_store_fatal(s, "the log failed to take a batch: %s", raft_strerror(r));
        p->record = (struct raft_buffer){};
        list_unlink(&p->node);
        list_append(&s->pending, &p->node);
        s->n_taken++;
        s->full_term = 0;
        return 0;
}

static bool is_known_to_be_full(const RaftStore *s) {
        return s->full_term == raft_current_term((struct raft *) &s->raft);
}

int raft_store_submit(Store *store, const void *data, size_t len, StoreDone done, void *userdata) {
        RaftStore *s = raft_store(store);
        int r = takes_pending(s);
        Pending *p;

        if (r < 0)
                return r;
        p = pending_new(s, done, userdata);
        if (!p)
                return -ENOMEM;
        p->record.len = batch_record_size(len);
        p->record.base = raft_malloc(p->record.len);
        if (!p->record.base) {
                free(p);
                return -ENOMEM;
        }
        batch_record_encode(p->id, data, len, p->record.base);
        p->apply.data = p;
        p->submitted_us = clock_monotonic_us();
        r = list_is_empty(&s->held) ? give_batch(s, p) : RAFT_NOSPACE;
        if (r == RAFT_NOSPACE && !is_known_to_be_full(s)) {
                list_append(&s->held, &p->node);
                r = 0;
        }
        if (r != 0) {
                raft_free(p->record.base);
                free(p);
                return raft_store_errno(r);
        }
        s->next_seq++;
        s->n_pending++;
        return 0;
}

// ---- barriers

static void finish_all(ListNode *waiting, StoreOutcome outcome, uint64_t index) {
        while (!list_is_empty(waiting))
                pending_finish(CONTAINER_OF(waiting->next, Pending, node), outcome, index);
}

static void on_barrier_done(struct raft_barrier *req, int status) {
        Barrier *b = req->data;

        finish_all(&b->waiting, outcome_of(status), req->index);
        free(b);
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

// libraft's code. *ret, for which nobody waits yet, lives until libraft is done with it.
static int begin_barrier(RaftStore *s, Barrier **ret) {
        Barrier *b = malloc(sizeof(*b));
        int r;

        if (!b)
                raft_store_fatal(s, "out of memory");
        *b = (Barrier){.barrier.data = b};
        list_init(&b->waiting);
        s->inside = true;
        r = raft_barrier(&s->raft, &b->barrier, on_barrier_done);
        s->inside = false;
        if (r == 0)
                *ret = b;
        else
                free(b);
        return r;
}

static void give_barriers(RaftStore *s) {
        ListNode refused = LIST_INIT(refused);
        Barrier *b;
        int r = begin_barrier(s, &b);

        if (r == 0) {
                list_splice(&b->waiting, &s->barriers);
                s->n_taken++;
                s->full_term = 0;
                return;
        }
        if (r == RAFT_NOSPACE && !is_known_to_be_full(s)) {
                s->barriers_held = true;
                return;
        }
        list_splice(&refused, &s->barriers);
        finish_all(&refused, barrier_refusal(r), 0);
}

void raft_store_flush_barriers(RaftStore *s) {
        if (!list_is_empty(&s->barriers) && !s->closing)
                give_barriers(s);
}

// ---- what waits for room

static bool is_of_a_term_that_is_over(const RaftStore *s, const Pending *p) {
        return raft_state((struct raft *) &s->raft) != RAFT_LEADER ||
               p->term != raft_current_term((struct raft *) &s->raft);
}

static void finish_what_is_over(RaftStore *s, ListNode *waiting) {
        ListNode over = LIST_INIT(over);

        list_foreach_safe (n, waiting)
                if (is_of_a_term_that_is_over(s, CONTAINER_OF(n, Pending, node))) {
                        list_unlink(n);
                        list_append(&over, n);
                }
        finish_all(&over, STORE_NOT_LEADER, 0);
}

static void finish_what_waits(RaftStore *s, StoreOutcome outcome) {
        ListNode all = LIST_INIT(all);

        list_splice(&all, &s->held);
        list_splice(&all, &s->barriers);
        s->barriers_held = false;
        finish_all(&all, outcome, 0);
}

static void give_held_batches(RaftStore *s) {
        int r = 0;

        while (r == 0 && !list_is_empty(&s->held))
                r = give_batch(s, CONTAINER_OF(s->held.next, Pending, node));
        if (r == RAFT_NOTLEADER) { // it is on its way to another voter
                ListNode refused = LIST_INIT(refused);

                list_splice(&refused, &s->held);
                finish_all(&refused, STORE_NOT_LEADER, 0);
        }
}

// Guard 29. libraft makes the next segments when it opens the log, and then whenever it begins one. If it
// could make none at first (the disk was full, or failed), the only voter takes nothing for want of room, so
// none is begun, and none is made when there is room. A barrier that asks for no room begins one; on a full
// disk it waits there, as entries do, and raft-disk.c sees to it.
static void begin_segment(RaftStore *s) {
        unsigned short room = s->raft.capacity_threshold;
        Barrier *b;

        // not before it is known to lead: that waits until what it has is applied
        if (raft_store_takes_requests(s) < 0 || s->io.capacity > 0 ||
            s->raft.last_stored < raft_last_index(&s->raft))
                return;
        raft_set_capacity_threshold(&s->raft, 0);
        (void) begin_barrier(s, &b); // refused, it is tried again in the next turn
        raft_set_capacity_threshold(&s->raft, room);
}

void raft_store_refresh_requests(RaftStore *s, uint64_t now_ms) {
        bool waits;

        begin_segment(s);
        finish_what_is_over(s, &s->held);
        give_held_batches(s);
        if (s->barriers_held) {
                s->barriers_held = false;
                finish_what_is_over(s, &s->barriers);
                raft_store_flush_barriers(s);
        }
        waits = !list_is_empty(&s->held) || s->barriers_held;
        (void) progress_is_stuck(&s->room_progress, s->n_taken, waits ? UINT64_MAX : s->n_taken, now_ms);
        if (s->room_progress.waited_ms < STORE_FULL_MS)
                return;
        s->full_term = raft_current_term(&s->raft);
        finish_what_waits(s, STORE_NO_SPACE);
}

void raft_store_end_requests(RaftStore *s) {
        finish_what_waits(s, STORE_NOT_LEADER);
}
