// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A request of thousands of units is several entries of the log, so that no turn of the loop is long. What
// is the same of all such requests stands here; which units a part has, and what becomes of them, is for who
// plans it to say (decide-parts.c, decide-aims.c, decide-undo.c).
//
//      log_parts_take() -> it is planned into the batch -> log_parts_put() -> the log has it -> the next
//      one, or the answer
//
//      what became of the entry    the part
//      not taken                   is taken and planned anew: nothing is known of it yet
//      there is nothing to store   is done at once. The last one has an entry nevertheless while the log
//                                  waits for it, and so
//                                  has one of which units are left that somebody has changed since
//      committed                   is done: its units count (Ticket.n_kept), and what is said of them goes
//                                  behind what was said before
//
// The client is answered about each part as it is there (Response.Change.first): no message is of thousands
// of results, which would take a long turn to make, to pack and to free.
//
// Failures: without memory for what becomes of a part the request fails before the log has that part. The
// next leader, who is asked again, begins with the first part.

#include "log-parts.h"

#include <errno.h>
#include <stdlib.h>

#include "decide-complete.h"
#include "message.h"
#include "response.h"
#include "turn.h"
#include "walks.h"

static void parts_free(Ticket *t, TicketWork *work) {
        LogParts *p = CONTAINER_OF(work, LogParts, work);

        message_free(p->part);
        walk_forget(t->leader, &p->walk);
        free(p);
}

static const TicketWorkKind parts_kind = {parts_free};

LogParts *log_parts_of(const Ticket *t) {
        TicketWork *work = ticket_work(t, &parts_kind);

        return work ? CONTAINER_OF(work, LogParts, work) : NULL;
}

int log_parts_begin(Ticket *t) {
        LogParts *p;

        if (log_parts_of(t))
                return 0;
        p = calloc(1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        ticket_add_work(t, &parts_kind, &p->work);
        p->resumed = ticket_has_open_job(t);
        if (p->resumed)
                walk_resume(t->leader, &p->walk);
        return 0;
}

size_t log_parts_slice(const LogParts *p, size_t whole) {
        return walk_slice(&p->walk, whole);
}

bool log_part_is_full(const LogPartRoom *room) {
        return room->n >= room->most_work || room->work >= room->most_work ||
               room->bytes >= room->enough_bytes;
}

bool log_part_takes(LogPartRoom *room, size_t work, size_t bytes) {
        if (log_part_is_full(room) || (room->n > 0 && room->bytes + bytes > room->most_bytes))
                return false;
        room->n++;
        room->work += work;
        room->bytes += bytes;
        return true;
}

void log_parts_take(LogParts *p, size_t end, bool last) {
        message_free(TAKE_PTR(p->part));
        p->end = end;
        p->last = last;
}

bool log_parts_fit(const Decision *d, BatchBuilderMark mark) {
        return mark.n_ops == 0 || d->batch.packed.len <= STORE_BATCH_MAX - ENTRY_SPARE_BYTES;
}

const Argosy__Response__Change *log_parts_results(const Ticket *t) {
        const LogParts *p = log_parts_of(t);

        return p && p->part ? p->part->change : NULL;
}

bool log_parts_is_left(const Argosy__Response__UnitResult *result) {
        return !result->repeated && (result->status == ESTALE || result->status == ENODATA);
}

static bool leaves_units(const LogParts *p) {
        for (size_t i = 0; i < p->part->change->n_units; i++)
                if (log_parts_is_left(p->part->change->units[i]))
                        return true;
        return false;
}

// What is said of the last part ends the ticket: it stays for who does that.
static void part_done(Leader *l, Ticket *t) {
        LogParts *p = log_parts_of(t);
        Argosy__Response__Change *change = p->part->change;

        decide_complete(l, t, p->part);
        change->first = (uint32_t) p->n_told;
        p->n_told += change->n_units;
        p->at = p->end;
        if (!p->last)
                ticket_send(t, TAKE_PTR(p->part));
}

void log_parts_count_kept(Ticket *t, size_t n_units) {
        t->n_kept += n_units;
}

static void on_part_committed(Leader *l, Ticket *t) {
        LogParts *p = log_parts_of(t);

        log_parts_count_kept(t, p->n_stored);
        part_done(l, t);
        if (p->last)
                (void) ticket_prepare(t, TAKE_PTR(p->part));
}

int log_parts_put(Decision *d, Ticket *t, BatchBuilderMark mark) {
        LogParts *p = log_parts_of(t);

        walk_sliced(d->leader, &p->walk, p->last ? 1 : 0);
        if (d->batch.n_ops != mark.n_ops || ((p->last || leaves_units(p)) && ticket_has_open_job(t))) {
                p->n_stored = batch_builder_units_since(&d->batch, mark);
                ticket_when_committed(t, on_part_committed, !p->last);
                return PLAN_IN_BATCH;
        }
        part_done(d->leader, t);
        if (p->last)
                ticket_settle(t, TAKE_PTR(p->part));
        else
                leader_mark(d->leader);
        return PLAN_SETTLED;
}
