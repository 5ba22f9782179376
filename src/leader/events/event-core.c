// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an object gets its sequence, and its event; see event-core.h. What is so of it is compared with what
// was told last, by hashes of the fields.
//
// Sequences of a ring have no gap: with a ring, nothing gets a sequence without an event. What was told in
// an earlier ring does not count (the epoch, the first of the hashes): between the two nobody has compared.
//
//      told[0]  the epoch           told[1]  whether it was there           told[2..]  a hash for each field
//
// Out of memory the process ends (oom.h), or a watcher would never learn that its last news of an object is
// outdated.

#include "event-core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "event-marks.h"
#include "oom.h"
#include "response.h"
#include "turn.h"

enum { REPORTED_EPOCH, REPORTED_PRESENT, REPORTED_FIELDS };

// ------------------------------------------------------------------------------------------------ the order

void event_stream_move_to_end(Leader *l, EventObject *o, uint64_t seq) {
        EventStream *s = l->events;

        if (o->seq > 0)
                change_order_remove(&s->order, o->seq);
        o->seq = seq;
        (void) oom_check(change_order_add(&s->order, seq, o));
}

void event_stream_leave_order(Leader *l, EventObject *o) {
        EventStream *s = l->events;

        if (o->seq > 0)
                change_order_remove(&s->order, o->seq);
        o->seq = 0;
}

// ------------------------------------------------------------------------------------------------ gone

// What leaves the order before it was told of is nobody's to hear of.
void event_stream_on_object_gone(Leader *l, EventObject *o, const char *name) {
        GoneObject *g;

        if (!l->events || o->seq == 0) {
                event_unmark(l, o);
                return;
        }
        g = event_mark_gone(l, o, name);
        change_order_replace(&l->events->order, o->seq, &g->event);
        o->seq = 0;
}

// -------------------------------------------------------------------------------------------- what was told

static uint32_t field_hash(const char *value) {
        return (uint32_t) map_hash(value, strlen(value));
}

static void note_reported(EventStream *s, uint32_t **reported, const EventDraft *d) {
        if (!*reported)
                *reported = oom_checked(calloc(REPORTED_FIELDS + d->n_fields, sizeof(**reported)));
        (*reported)[REPORTED_EPOCH] = s->epoch;
        (*reported)[REPORTED_PRESENT] = d->present;
        for (size_t i = 0; i < d->n_fields; i++)
                (*reported)[REPORTED_FIELDS + i] = field_hash(d->values[i]);
}

static bool is_known(const EventStream *s, const uint32_t *reported) {
        return reported && reported[REPORTED_EPOCH] == s->epoch;
}

void event_stream_note_reported(Leader *l, bool due, uint32_t **reported, const EventDraft *d) {
        EventStream *s = l->events;

        if (l->event_news.kept && !due && !is_known(s, *reported))
                note_reported(s, reported, d);
}

// The fields that are not as they were told. `told`: of an object that is there, and was.
static size_t compare(const uint32_t *reported, const EventDraft *d, uint32_t ret[EVENT_FIELDS_MAX]) {
        size_t n = 0;

        for (uint32_t i = 0; i < d->n_fields; i++)
                if (reported[REPORTED_FIELDS + i] != field_hash(d->values[i]))
                        ret[n++] = i;
        return n;
}

// ------------------------------------------------------------------------------------------------ events

static EventEntry *add_event(Leader *l, const EventDraft *d, uint32_t *changed, size_t n_changed) {
        EventStream *s = l->events;
        EventMarks m = {.seq = ++s->last_seq,
                        .at_us = leader_wall(l),
                        .index = s->index,
                        .changed = changed,
                        .n_changed = n_changed};
        EventEntry *e =
                oom_checked(event_ring_add(&s->ring, d->kind, d->values[0], event_draft_size(d, &m)));

        e->index = s->index;
        e->role = d->role;
        e->role_before = d->role_before;
        e->of_roles = false;
        event_draft_pack(d, &m, e->bytes);
        return e;
}

void event_stream_tell_roles(Leader *l, const EventDraft *d) {
        if (l->event_news.kept)
                add_event(l, d, NULL, 0)->of_roles = true;
        else
                l->events->last_seq++;
}

// Tells what is not as it was told. True: it is an event, and has the last sequence.
bool event_stream_notify(Leader *l, uint32_t **reported, const EventDraft *d) {
        uint32_t changed[EVENT_FIELDS_MAX];
        size_t n_changed = 0;

        if (is_known(l->events, *reported)) {
                bool was_present = (*reported)[REPORTED_PRESENT];

                if (was_present && d->present)
                        n_changed = compare(*reported, d, changed);
                if (was_present == d->present && n_changed == 0)
                        return false;
        }
        (void) add_event(l, d, changed, n_changed);
        note_reported(l->events, reported, d);
        return true;
}

void event_stream_follow(Leader *l, EventObject *o, const EventDraft *d) {
        EventStream *s = l->events;

        if (!l->event_news.kept)
                event_stream_move_to_end(l, o, ++s->last_seq);
        else if (event_stream_notify(l, &o->reported, d))
                event_stream_move_to_end(l, o, s->last_seq);
}

int event_stream_append(Leader *l, Argosy__Response__Events *answer, const EventDraft *d,
                        Argosy__EventMark mark, uint64_t seq, uint64_t index) {
        EventMarks m = {.mark = mark, .seq = seq, .at_us = leader_wall(l), .index = index};
        ProtobufCBinaryData *at;

        if (ARRAY_RESERVE(answer->events, answer->n_events + 1) < 0)
                return -ENOMEM;
        at = &answer->events[answer->n_events];
        at->len = event_draft_size(d, &m);
        at->data = malloc(at->len);
        if (!at->data)
                return -ENOMEM;
        event_draft_pack(d, &m, at->data);
        answer->n_events++;
        return 0;
}
