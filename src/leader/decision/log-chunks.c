// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A request of thousands of units is several entries of the log, so that no turn of the loop is long. What
// is the same of all such requests stands here; which units a chunk has, and what becomes of them, is for
// who plans it to say (decide-chunks.c, decide-aims.c, decide-undo.c).
//
//      log_chunk_take() -> it is planned into the batch -> log_chunk_put() -> the log has it -> the next
//      one, or the answer
//
//      what became of the entry    the chunk
//      not taken                   is taken and planned anew: nothing is known of it yet
//      there is nothing to store   is done at once. The last one has an entry nevertheless while the log
//                                  waits for it, and so has one of which units are left that somebody has
//                                  changed since
//      committed                   is done: its units count (PendingRequest.n_kept), and what is said of
//                                  them goes behind what was said before
//
// The client is answered about each chunk as it is there (Response.Change.first): no message is of thousands
// of results, which would take a long turn to make, to pack and to free.
//
// Failures: without memory for what becomes of a chunk the request fails before the log has that chunk. The
// next leader, who is asked again, begins with the first chunk.

#include "log-chunks.h"

#include <errno.h>
#include <stdlib.h>

#include "decide-complete.h"
#include "message.h"
#include "response.h"
#include "turn.h"
#include "walks.h"

static void parts_free(PendingRequest *t, RequestWork *work) {
        LogChunks *p = CONTAINER_OF(work, LogChunks, work);

        message_free(p->answer);
        walk_forget(t->leader, &p->walk);
        free(p);
}

static const RequestWorkKind parts_kind = {parts_free};

LogChunks *log_chunk_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &parts_kind);

        return work ? CONTAINER_OF(work, LogChunks, work) : NULL;
}

int log_chunk_begin(PendingRequest *t) {
        LogChunks *p;

        if (log_chunk_of(t))
                return 0;
        p = calloc(1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        request_add_work(t, &parts_kind, &p->work);
        p->resumed = request_has_open_job(t);
        if (p->resumed)
                walk_resume(t->leader, &p->walk);
        return 0;
}

size_t log_chunk_slice(const LogChunks *p, size_t whole) {
        return walk_slice(&p->walk, whole);
}

bool log_chunk_is_full(const LogChunkRoom *room) {
        return room->n >= room->most_work || room->work >= room->most_work ||
               room->bytes >= room->enough_bytes;
}

bool log_chunk_takes(LogChunkRoom *room, size_t work, size_t bytes) {
        if (log_chunk_is_full(room) || (room->n > 0 && room->bytes + bytes > room->most_bytes))
                return false;
        room->n++;
        room->work += work;
        room->bytes += bytes;
        return true;
}

void log_chunk_take(LogChunks *p, size_t end, bool last) {
        message_free(TAKE_PTR(p->answer));
        p->end = end;
        p->last = last;
}

bool log_chunk_fit(const Decision *d, BatchBuilderMark mark) {
        return mark.n_ops == 0 || d->batch.packed.len <= STORE_BATCH_MAX - ENTRY_SPARE_BYTES;
}

const Argosy__Response__Change *log_chunk_results(const PendingRequest *t) {
        const LogChunks *p = log_chunk_of(t);

        return p && p->answer ? p->answer->change : NULL;
}

bool log_chunk_is_left(const Argosy__Response__UnitResult *result) {
        return !result->repeated && (result->status == ESTALE || result->status == ENODATA);
}

static bool leaves_units(const LogChunks *p) {
        for (size_t i = 0; i < p->answer->change->n_units; i++)
                if (log_chunk_is_left(p->answer->change->units[i]))
                        return true;
        return false;
}

// What is said of the last chunk ends the pending request: it stays for who does that.
static void part_done(Leader *l, PendingRequest *t) {
        LogChunks *p = log_chunk_of(t);
        Argosy__Response__Change *change = p->answer->change;

        decide_complete(l, t, p->answer);
        change->first = (uint32_t) p->n_reported;
        p->n_reported += change->n_units;
        p->at = p->end;
        if (!p->last)
                request_send(t, TAKE_PTR(p->answer));
}

void log_chunk_count_kept(PendingRequest *t, size_t n_units) {
        t->n_kept += n_units;
}

static void on_part_committed(Leader *l, PendingRequest *t) {
        LogChunks *p = log_chunk_of(t);

        log_chunk_count_kept(t, p->n_stored);
        part_done(l, t);
        if (p->last)
                (void) request_prepare(t, TAKE_PTR(p->answer));
}

int log_chunk_put(Decision *d, PendingRequest *t, BatchBuilderMark mark) {
        LogChunks *p = log_chunk_of(t);

        walk_sliced(d->leader, &p->walk, p->last ? 1 : 0);
        if (d->batch.n_ops != mark.n_ops || ((p->last || leaves_units(p)) && request_has_open_job(t))) {
                p->n_stored = batch_builder_units_since(&d->batch, mark);
                request_when_committed(t, on_part_committed, !p->last);
                return PLAN_IN_BATCH;
        }
        part_done(d->leader, t);
        if (p->last)
                request_settle(t, TAKE_PTR(p->answer));
        else
                leader_mark(d->leader);
        return PLAN_SETTLED;
}
