// SPDX-License-Identifier: LGPL-2.1-or-later

// Snapshots that are taken here, without holding the loop:
//
//   libraft: snapshot()      the owner takes its own, in microseconds
//   libraft: snapshot_put()  a worker encodes it, piece by piece, each hashed as it comes; between two of
//                            them the loop
//                            looks whether it is still wanted
//                            the last: the owner's is released, the digest goes into the head (guard 2)
//   entries written          it waits until the log has on the disk what it has (guard 24); then libraft
//                            writes the pieces, without ever copying them
//   written                  a worker frees the pieces, and libraft is told
//
// (libraft has snapshot_async() for the second step, and calls it in the loop.)
//
// What may happen meanwhile:
//
//   batches are applied      they count for the next snapshot. The state of this one does not change, nor
//                            does what libraft
//                            noted with it: index, term and configuration
//   leadership comes, goes   nothing: a snapshot is of what was committed
//   the leader sends one     a follower that is sent a snapshot does not need its own. libraft would crash
//                            if it got that
//                            now (guard 11), so it waits at the gate, and what is being encoded is given up
//   the store closes         given up; close waits for the worker's piece
//   no memory, too slow      given up, and begun anew SNAPSHOT_RETRY_MS later at the earliest; the log is as
//                            it was
//
// Given up means that libraft is told of a snapshot that could not be written, which changes nothing.
//
// Guard 11: libraft has a place for a snapshot that is sent while it takes one, but forgets it before it
// looks there (takeSnapshotCb() in its legacy code), and follows a NULL pointer.
//
// Guard 24: a voter applies what most others have before it has written it, and may take a snapshot of
// that. The name of an open segment does not say which entries it has: libraft takes the first one for
// what follows the newest closed segment, or without any (in a log that was sent a snapshot or begun
// empty) for what follows the newest snapshot. If the entries that a snapshot has were written behind it,
// a crash would give them numbers behind it, and they would be applied twice. So a snapshot waits until
// they are written. libraft then closes their segment before the snapshot gets its name, and from then on
// there is always a closed segment that ends where the snapshot does, or later. libraft's memory needs the
// same: it looks for what was written among the entries that it has kept, and counts nothing as written if
// the first of them is not there.
//
// Guard 18: the snapshot for a member that is far behind is read by a worker, too, and may be a newer one
// than libraft knew when it asked: one that has just been written, and that it has not been told of. libraft
// sends its index then, but the older one's term, with which the member cannot agree with anybody any more,
// or votes for somebody who has not all. It sends it when it has been closed meanwhile, from memory that is
// free soon. And if it could not be read, libraft frees what it never had.
//
// Tests: store/snapshot, store/numbers.

#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "clock.h"
#include "log.h"
#include "pool.h"
#include "raft-store.h"

enum { SNAPSHOT_RETRY_MS = 1000 };

struct Taking {
        PoolWork work;
        RaftStore *owner;
        const StoreOps *ops;
        bool working; // a worker has it
        bool waiting; // until the entries that it has are written
        bool unwanted;

        void *snapshot; // the owner's; NULL: released
        Hasher hasher;
        int result;               // of the last piece
        struct raft_buffer *bufs; // the head, and the pieces
        size_t n_bufs, bufs_allocated;
        uint64_t len;  // of the pieces
        Compaction at; // when it was taken
        uint64_t taken_us;

        // libraft's
        unsigned trailing;
        struct raft_io_snapshot_put ours, *req;
        struct raft_snapshot whole;
        raft_io_snapshot_put_cb done;
        int status;
};

// ---- the end

static void free_pieces(Taking *t) {
        for (size_t i = 0; i < t->n_bufs; i++)
                free(t->bufs[i].base);
        free(t->bufs);
        t->bufs = NULL;
        t->n_bufs = 0;
}

static void release(Taking *t) {
        if (t->snapshot)
                t->ops->snapshot_release(TAKE_PTR(t->snapshot), t->owner->store.userdata);
}

static Taking *taking_free(Taking *t) {
        release(t);
        free_pieces(t);
        hasher_done(&t->hasher, NULL);
        free(t);
        return NULL;
}

// libraft is told. How much log it keeps in memory is what was said when it was taken; that it is not due at
// once again must be known before.
static void tell(Taking *t) {
        RaftStore *s = t->owner;

        s->taking = NULL;
        if (t->status == 0) {
                compaction_done(&s->compaction, &t->at, t->len);
                time_histogram_add(&s->snapshots, clock_monotonic_us() - t->taken_us);
                if (t->ops->snapshot_written && !s->closing)
                        t->ops->snapshot_written(s->store.userdata);
        } else {
                s->retry_snapshot_ms = uv_now(s->loop) + SNAPSHOT_RETRY_MS;
                s->snapshot_failures++;
        }
        raft_store_set_compaction(s);
        raft_set_snapshot_trailing(&s->raft, t->trailing);
        t->done(t->req, t->status);
        if (!s->raft_closing)
                raft_store_set_compaction(s);
        taking_free(t);
        raft_gate_go_on(s); // a snapshot that the leader sent may wait
        if (s->closing)
                drain_mark(&s->drain); // the close may wait for this
}

static void on_free(PoolWork *work) {
        free_pieces(work->work.data);
}

static void on_freed(PoolWork *work) {
        Taking *t = work->work.data;

        t->working = false;
        tell(t);
}

// Hundreds of megabytes are given back by a worker. Not when libraft closes: then it waits for nobody but
// us.
static void end(Taking *t, int status) {
        RaftStore *s = t->owner;

        t->status = status;
        if (s->raft_closing) {
                tell(t);
                return;
        }
        t->working = true;
        pool_add(s->loop, &t->work, POOL_CLUSTER, on_free, on_freed);
}

// ---- writing

static void on_put(struct raft_io_snapshot_put *ours, int status) {
        Taking *t = ours->data;

        raft_gate_note_barrier(t->owner, false);
        end(t, status);
}

static void write_pieces(Taking *t) {
        RaftStore *s = t->owner;
        int r;

        t->whole.bufs = t->bufs;
        t->whole.n_bufs = (unsigned) t->n_bufs;
        t->ours.data = t;
        r = s->uv_io.snapshot_put(&s->io, t->trailing, &t->ours, &t->whole, on_put);
        if (r != 0)
                end(t, r);
}

void raft_snapshot_go_on(RaftStore *s) {
        Taking *t = s->taking;

        if (!t || !t->waiting || s->raft.last_stored < t->whole.index)
                return;
        t->waiting = false;
        write_pieces(t);
}

// ---- encoding

static int add_buf(Taking *t, void *base, size_t len) {
        if (ARRAY_GROW(t->bufs, t->bufs_allocated, t->n_bufs + 1) < 0)
                return -ENOMEM;
        t->bufs[t->n_bufs++] = (struct raft_buffer){.base = base, .len = len};
        return 0;
}

static int begin_head(Taking *t) {
        _cleanup_free_ uint8_t *head = calloc(1, SNAPSHOT_HEADER_SIZE);
        int r = head ? hasher_init(&t->hasher) : -ENOMEM;

        if (r == 0)
                r = add_buf(t, head, SNAPSHOT_HEADER_SIZE);
        if (r == 0)
                TAKE_PTR(head);
        return r;
}

static void end_head(Taking *t) {
        Hash digest;

        hasher_done(&t->hasher, &digest);
        snapshot_record_seal(t->bufs[0].base, t->len, &digest);
}

static int next_piece(Taking *t) {
        _cleanup_buf_ Buf piece = {};
        int r = t->n_bufs == 0 ? begin_head(t) : 0, more;

        if (r < 0)
                return r;
        more = t->ops->snapshot_encode(t->snapshot, &piece);
        if (more < 0)
                return more;
        if (piece.len > 0) {
                r = add_buf(t, piece.data, piece.len);
                if (r < 0)
                        return r;
                hasher_add(&t->hasher, piece.data, piece.len);
                t->len += piece.len;
                piece.data = NULL;
        }
        if (more == 0)
                end_head(t);
        return more;
}

// Worker thread: touches nothing but this and what the snapshot reaches.
static void on_encode(PoolWork *work) {
        Taking *t = work->work.data;

        t->result = next_piece(t);
}

static bool is_wanted(const Taking *t) {
        return !t->unwanted && !t->owner->closing;
}

static bool may_go_on(const Taking *t) {
        return is_wanted(t) && !(t->ops->snapshot_is_cut && t->ops->snapshot_is_cut(t->snapshot));
}

static void on_encoded(PoolWork *work) {
        Taking *t = work->work.data;
        RaftStore *s = t->owner;

        t->working = false;
        if (t->result == STORE_SNAPSHOT_MORE && may_go_on(t)) {
                t->working = true;
                pool_add(s->loop, &t->work, POOL_CLUSTER, on_encode, on_encoded);
                return;
        }
        release(t);
        if (t->result == 0 && is_wanted(t)) {
                t->waiting = true;
                raft_snapshot_go_on(s);
                return;
        }
        if (t->result < 0)
                log_warning("cannot take a snapshot of the state: %s", strerror(-t->result));
        end(t, t->result == -ENOMEM ? RAFT_NOMEM : RAFT_CANCELED);
}

// ---- what libraft calls

static bool configuration_is_pending(const struct raft *raft) {
        return raft->configuration_uncommitted_index > 0 &&
               raft->configuration_uncommitted_index <= raft->last_applied;
}

int raft_snapshot_take(struct raft_fsm *fsm, struct raft_buffer *ret_bufs[], unsigned *ret_n) {
        RaftStore *s = CONTAINER_OF(fsm, RaftStore, fsm);
        Taking *t;
        int r;

        // libraft asks again at its next event. The owner is not called from inside its own call; and a
        // committed configuration that libraft has not taken note of yet would be missing in the snapshot
        // (guard 10). While the store is being opened it may yet fail, and then the owner is not asked any
        // more.
        if (s->inside || s->opening || s->closing || configuration_is_pending(&s->raft) ||
            uv_now(s->loop) < s->retry_snapshot_ms)
                return RAFT_BUSY;
        t = calloc(1, sizeof(*t));
        if (!t)
                return RAFT_NOMEM;
        s->inside = true;
        r = s->store.ops->snapshot(&t->snapshot, s->store.userdata);
        s->inside = false;
        if (r < 0) {
                free(t);
                s->retry_snapshot_ms = uv_now(s->loop) + SNAPSHOT_RETRY_MS;
                return r == -ENOMEM ? RAFT_NOMEM : RAFT_BUSY;
        }
        t->owner = s;
        t->ops = s->store.ops;
        t->work.work.data = t;
        t->at = s->compaction;
        t->taken_us = clock_monotonic_us();
        s->taking = t;
        *ret_bufs = NULL; // it gets them when they are there
        *ret_n = 0;
        return 0;
}

int raft_snapshot_put(RaftStore *s, unsigned trailing, struct raft_io_snapshot_put *req,
                      const struct raft_snapshot *snapshot, raft_io_snapshot_put_cb done) {
        Taking *t = s->taking;

        t->trailing = trailing;
        t->req = req;
        t->whole = *snapshot;
        t->done = done;
        t->working = true;
        pool_add(s->loop, &t->work, POOL_CLUSTER, on_encode, on_encoded);
        return 0;
}

int raft_snapshot_finalize(struct raft_fsm *fsm, struct raft_buffer *bufs[], unsigned *n) {
        return 0; // it never had them
}

// ---- guard 18: snapshots for members

typedef struct Reading {
        struct raft_io_snapshot_get ours, *req;
        RaftStore *owner;
        raft_io_snapshot_get_cb done;
} Reading;

static void on_read(struct raft_io_snapshot_get *ours, struct raft_snapshot *snapshot, int status) {
        Reading *reading = ours->data;
        RaftStore *s = reading->owner;

        if (status == 0) {
                s->sent_term = snapshot->term;
                reading->done(reading->req, snapshot, 0);
                s->sent_term = 0;
        } else if (!s->raft_closing) // then nobody asks any more
                raft_store_fatal(s, "cannot read the snapshot for another voter: %s", raft_strerror(status));
        free(reading);
}

int raft_snapshot_get(struct raft_io *io, struct raft_io_snapshot_get *req, raft_io_snapshot_get_cb done) {
        RaftStore *s = CONTAINER_OF(io, RaftStore, io);
        Reading *reading = malloc(sizeof(*reading));
        int r;

        if (!reading)
                return RAFT_NOMEM;
        *reading = (Reading){.ours.data = reading, .req = req, .owner = s, .done = done};
        r = s->uv_io.snapshot_get(io, &reading->ours, on_read);
        if (r != 0)
                free(reading);
        return r;
}

const struct raft_message *raft_snapshot_send(RaftStore *s, const struct raft_message *message,
                                              struct raft_message *ret_changed) {
        if (message->type != RAFT_INSTALL_SNAPSHOT || s->sent_term == 0)
                return message;
        *ret_changed = *message;
        ret_changed->install_snapshot.last_term = s->sent_term;
        return ret_changed;
}

// ---- what the store asks

bool raft_snapshot_give_up(RaftStore *s) {
        Taking *t = s->taking;

        if (!t)
                return false;
        t->unwanted = true;
        if (t->waiting) {
                t->waiting = false;
                end(t, RAFT_CANCELED);
        }
        return t->working;
}
