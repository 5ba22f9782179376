// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who watches the events of a leader that is played (leader-rig.h), one question at a time: what he was
// answered, and what stands in it.

#include "leader-private.h"
#include "leader-rig.h"
#include "test.h"

#include "event-cursor.h"
#include "event-kind.h"
#include "message-of.h"
#include "message.h"

enum { ASKED_EVENTS_MAX = 2048 };

typedef struct Asked {
        char cursor[EVENT_CURSOR_SIZE]; // goes in; comes out
        bool from_now, no_wait;
        bool all; // he was told that there is nothing more
        uint64_t since_job;     // with no cursor; 0: none
        const char *pattern;    // NULL: none
        Argosy__EventKind kind; // NONE: all
        bool words;             // beside `kind`: what is said of the stream itself
        uint32_t max_bytes;
        const Argosy__Author *author; // NULL: the host itself
        bool answered;
        int status;
        Argosy__Event *events[ASKED_EVENTS_MAX];
        size_t n;
        size_t bytes, packed; // of the events alone, and of all that came
        uint64_t cancel;
} Asked;

static inline void asked_forget(Asked *a) {
        for (size_t i = 0; i < a->n; i++)
                message_free(a->events[i]);
        a->n = 0;
}

static inline void asked_on_response(const Argosy__Response *r, void *userdata) {
        Asked *a = userdata;

        assert_true(r->final);
        assert_false(a->answered);
        a->answered = true;
        a->status = r->status;
        if (r->status != 0)
                return;
        assert_int_equal(r->what_case, ARGOSY__RESPONSE__WHAT_EVENTS);
        snprintf(a->cursor, sizeof(a->cursor), "%s", r->events->cursor);
        assert_true(r->events->n_events <= ASKED_EVENTS_MAX);
        a->bytes = 0;
        a->packed = argosy__response__get_packed_size(r);
        a->all = r->events->all;
        for (size_t i = 0; i < r->events->n_events; i++) {
                a->bytes += r->events->events[i].len;
                assert_int_equal(message_unpack(&argosy__event__descriptor, r->events->events[i].data,
                                                r->events->events[i].len, (void **) &a->events[a->n++]),
                                 0);
        }
}

static inline void asked_ask(Rig *g, Asked *a) {
        Argosy__EventKind kinds[] = {a->kind, ARGOSY__EVENT_KIND__EVENT_STREAM};
        bool some = a->kind != ARGOSY__EVENT_KIND__EVENT_NONE;

        asked_forget(a);
        a->answered = false;
        Argosy__Request__Events q = MESSAGE_OF(
                request__events, .cursor = a->cursor, .from_now = a->from_now, .no_wait = a->no_wait,
                .since_job = *a->cursor ? 0 : a->since_job, .patterns = (char **) &a->pattern,
                .n_patterns = a->pattern != NULL, .kinds = kinds,
                .n_kinds = some ? 1 + (size_t) a->words : 0, .max_bytes = a->max_bytes);
        Argosy__Request request = REQUEST_OF(EVENTS, events, &q);
        assert_int_equal(leader_request(g->leader, a->author, &request, asked_on_response, a, &a->cancel),
                         0);
}

static inline void asked_cancel(Rig *g, Asked *a) {
        if (!a->answered)
                leader_cancel(g->leader, a->cancel);
}

// False: there was nothing for him. (Turns in which hosts are idle cost no time.)
static inline bool asked_pull(Rig *g, Asked *a) {
        asked_ask(g, a);
        for (unsigned i = 0; i < 40 && !a->answered; i++)
                rig_turn(g);
        asked_cancel(g, a);
        if (a->answered)
                assert_int_equal(a->status, 0);
        return a->answered;
}

static inline const char *event_value(const Argosy__Event *e, size_t i) {
        return i < e->n_values ? e->values[i] : "";
}

static inline bool event_is_word(const Argosy__Event *e, const char *word) {
        return e->kind == ARGOSY__EVENT_KIND__EVENT_STREAM && streq(event_value(e, 0), word);
}

// All that there is of this kind follows.
static inline bool event_begins(const Argosy__Event *e, Argosy__EventKind kind) {
        const EventKindInfo *info = event_kind_info(kind);
        const char *kinds = event_value(e, EVENT_STREAM_KINDS);

        return event_is_word(e, EVENT_STREAM_BEGINS) && (!*kinds || (info && strstr(kinds, info->name)));
}

// The newest of these events, or NULL.
static inline const Argosy__Event *asked_find(const Asked *a, Argosy__EventKind kind, const char *name) {
        for (size_t i = a->n; i > 0; i--)
                if (a->events[i - 1]->kind == kind && streq(event_value(a->events[i - 1], 0), name))
                        return a->events[i - 1];
        return NULL;
}

static inline bool event_has_changed(const Argosy__Event *e, const char *field) {
        const EventKindInfo *info = event_kind_info(e->kind);

        for (size_t i = 0; i < e->n_changed; i++)
                if (streq(info->fields[e->changed[i]].name, field))
                        return true;
        return false;
}

static inline const char *event_field(const Argosy__Event *e, const char *name) {
        const EventKindInfo *info = event_kind_info(e->kind);

        for (size_t i = 0; i < event_kind_n_fields(info); i++)
                if (streq(info->fields[i].name, name))
                        return event_value(e, i);
        fail_msg("%s has no field %s", info->name, name);
        return NULL;
}
