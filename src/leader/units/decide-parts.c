// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A Change of thousands of units is several entries of the log, so that no turn of the loop is long: not that of the
// leader that plans it, nor those of the voters that apply it, nor those of the hosts that get the orders.
//
//      1. its names are looked at, TIES_CHECK_UNITS a turn: whether the units have to do with each other
//         (request-ties.h). If they have, it is one entry like a small one.
//      2. PART_UNITS after PART_UNITS is planned and committed (of a submit SUBMIT_PART_UNITS, change_part_units()). What
//         others ask for meanwhile goes in between.
//      3. when the log has the last part, the client is answered once, about all units; or, if it takes that
//         (Request.Change.parts), about each part as it is there, and no message is of thousands of results.
//
// The log remembers the request by its id, and while not all of it is there, how far it has come (LogOp.JobPut.done). So a
// client that repeats the request, since a leader has died in the middle, has applied what was missing and nothing twice,
// however many others have asked for something since. What was begun in parts is gone on with in parts.
//
// Whoever fails in the middle is told how many units were changed by then (Ticket.n_kept).
#include "decide-parts.h"

#include <errno.h>
#include <stdlib.h>

#include "decide-changes.h"
#include "decide-complete.h"
#include "feature-level.h"
#include "oom.h"
#include "request-ties.h"
#include "response.h"
#include "turn.h"

enum {
        PART_UNITS = 256,        // planned, applied and followed at about 10 us each
        SUBMIT_PART_UNITS = 512, // these get no node and no order, so each costs half of that
        TIES_CHECK_UNITS = 2048, // looked at in one turn, at about 1 us each
};
static_assert((int) FEATURE_CHANGE_PARTS >= (int) FEATURE_JOBS); // by which a request is known again

struct ChangeParts {
        RequestTies ties;
        bool judged, whole;       // whether it is one entry is known; it is
        size_t first, n;          // names of the part under way
        size_t n_stored;          // of these, once it is in the batch
        Argosy__Response *part;   // what becomes of these
        Argosy__Response *answer; // to all before
};

void change_parts_free(Ticket *t) {
        ChangeParts *p = TAKE_PTR(t->parts);

        if (!p)
                return;
        request_ties_done(&p->ties);
        message_free(p->part);
        message_free(p->answer);
        free(p);
}

size_t change_part_units(const Argosy__Request__Change *change) {
        return change->verb == ARGOSY__VERB__VERB_SUBMIT ? SUBMIT_PART_UNITS : PART_UNITS;
}

// Names whose parts are in the log. A part that had nothing to store counts when one behind it is there.
static uint32_t names_done(const Leader *l, const Argosy__Request__Change *change) {
        RequestKey key;

        return cluster_state_find_key(l->state, change->id.data, &key) && key.more ? key.done : 0;
}

// 0: in parts; CHANGE_WHOLE; REQUEST_TIES_MORE; -ENOMEM.
static int judge(Decision *d, Ticket *t) {
        const Argosy__Request__Change *change = t->request->change;
        ChangeParts *p = t->parts;
        int r;

        if (!p->judged) {
                r = request_ties_check(&p->ties, d->leader->state, change, TIES_CHECK_UNITS,
                                       decide_change_ops(), d);
                if (r != 0)
                        return r;
                p->judged = true;
                p->whole = p->ties.tied && names_done(d->leader, change) == 0;
                map_done(&p->ties.names);
        }
        return p->whole ? CHANGE_WHOLE : 0;
}

// The log has the part. True: it was the last one.
static bool part_done(Leader *l, Ticket *t) {
        const Argosy__Request__Change *change = t->request->change;
        ChangeParts *p = t->parts;
        bool last = p->first + p->n == change->n_names;

        decide_complete(l, t, p->part);
        p->part->change->first = change->parts ? (uint32_t) p->first : 0;
        p->first += p->n;
        if (!change->parts) {
                (void) oom_check(unit_results_move(p->part->change, p->answer->change));
                message_free(TAKE_PTR(p->part));
        } else if (last) {
                message_free(p->answer);
                p->answer = TAKE_PTR(p->part);
        } else
                ticket_send(t, TAKE_PTR(p->part));
        return last;
}

static void on_part_committed(Leader *l, Ticket *t) {
        t->committed = NULL;
        t->made = true;
        t->n_kept += t->parts->n_stored;
        if (part_done(l, t))
                t->response = TAKE_PTR(t->parts->answer);
}

static int decide_part(Decision *d, Ticket *t) {
        BatchBuilderMark mark = batch_builder_mark(&d->batch);
        Argosy__Request__Change part = *t->request->change;
        ChangeParts *p = t->parts;
        bool last;
        int r;

        p->n = MIN_OF(part.n_names - p->first, change_part_units(&part));
        last = p->first + p->n == part.n_names;
        part.names += p->first;
        part.n_names = p->n;
        if (!last)
                part.id = (ProtobufCBinaryData){}; // that is for when the log has all of it
        message_free(TAKE_PTR(p->part)); // its entry was not taken
        r = decide_units(d, t, &part, &p->part);
        if (r < 0 || !t->parts || !p->part) // it was answered, and nothing of it is left; or a later turn has time for it
                return r;
        if (r == PLAN_IN_BATCH || (p->part && last && ticket_has_open_job(t))) {
                p->n_stored = batch_builder_units_since(&d->batch, mark);
                t->again = !last;
                t->committed = on_part_committed;
                return PLAN_IN_BATCH;
        }
        if (part_done(d->leader, t))
                ticket_settle(t, TAKE_PTR(p->answer));
        else
                leader_mark(d->leader);
        return PLAN_SETTLED;
}

uint32_t decide_parts_end(const Ticket *t) {
        return t->parts ? (uint32_t) (t->parts->first + t->parts->n) : 0;
}

const Argosy__Response__Change *decide_parts_results(const Ticket *t) {
        return t->parts && t->parts->part ? t->parts->part->change : NULL;
}

bool decide_part_is_done(const Leader *l, const Ticket *t) {
        uint32_t end = decide_parts_end(t);

        return end > 0 && end <= names_done(l, t->request->change);
}

static int parts_new(Ticket *t) {
        t->parts = calloc(1, sizeof(*t->parts));
        if (!t->parts)
                return -ENOMEM;
        t->parts->answer = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        return t->parts->answer ? 0 : -ENOMEM;
}

int decide_parts(Decision *d, Ticket *t) {
        Leader *l = d->leader;
        int r = 0;

        if (t->request->change->n_names <= change_part_units(t->request->change) ||
            cluster_state_feature_level(l->state) < FEATURE_CHANGE_PARTS)
                return CHANGE_WHOLE;
        if (!t->parts)
                r = parts_new(t);
        if (r >= 0)
                r = judge(d, t);
        if (r == REQUEST_TIES_MORE) {
                leader_mark(l);
                return PLAN_SETTLED;
        }
        return r != 0 ? r : decide_part(d, t);
}
