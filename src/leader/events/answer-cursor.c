// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A client that has changed something and reads events from the cursor of the answer misses nothing: it is
// the place where the stream was when the first entry of the change went to the log, so the change itself
// comes behind it, and all that follows from it. A place is taken as a whole at one moment: its sequence
// counts under this leader, its index of the log under the next one.
//
// For a request that is repeated because the answer was lost that place is not known: the change may be
// another leader's. Its cursor is one of no term. A client that goes on from there gets what has come into
// the log since that job, and what nodes say now. A request that has changed nothing gets the place where
// the stream is.

#include "answer-cursor.h"

#include "authorization.h"
#include "event-cursor.h"
#include "event-stream.h"
#include "request-kind.h"
#include "response.h"
#include "pending-requests.h"

void answer_cursor_note(const Leader *l, PendingRequest *t) {
        if (t->has_before || !l->events)
                return;
        t->before = event_stream_cursor(l);
        t->has_before = true;
}

static bool is_change(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);

        return kind && kind->effect == REQUEST_CHANGES &&
               !(q->what_case == ARGOSY__REQUEST__WHAT_CHANGE && q->change->preview);
}

static EventCursor cursor_of(const Leader *l, const PendingRequest *t) {
        EventCursor c = t->has_before           ? t->before
                        : t->made || t->job > 0 ? event_stream_cursor_of_job(l, t->job)
                                                : event_stream_cursor(l);

        c.scope = authorization_scope(l, t->author);
        return c;
}

void answer_cursor_add(PendingRequest *t, Argosy__Response *response) {
        const Leader *l = t->leader;
        char text[EVENT_CURSOR_SIZE];
        EventCursor c;

        if (response->status != 0 || *response->awaits || !l->events || !is_change(t->request))
                return;
        c = cursor_of(l, t);
        event_cursor_format(&c, text);
        (void) field_set(&response->cursor, text);
}
