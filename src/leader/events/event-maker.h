// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is so of an object now, as the values of an event.

#include "buf.h"
#include "event-kind.h"
#include "leader-core.h"
#include "tables.h"

// One event in the making. Its values are borrowed from the tables, or stand in `text`, and are good until
// the next change of the object.
typedef struct EventDraft {
        Argosy__EventKind kind;
        const EventKindInfo *info;
        size_t n_fields;
        uint16_t role, role_before; // EventObject.role, set by the caller
        bool present; // else there is no such object (any more), and only its names are filled in
        bool mismatch; // of a unit on a node: that is not what its file asks for
        bool older_secret; // likewise: it has an older version of a secret
        const char *values[EVENT_FIELDS_MAX];
        Buf text;
        // What the values are borrowed from:
        Argosy__Response__UnitFiles files;
        Argosy__Response__Nodes nodes;
        Argosy__Response__JobRow *job;
} EventDraft;

void event_draft_done(EventDraft *d);
#define _cleanup_event_draft_ _cleanup_(event_draft_done)

// Making one: it begins with no values; texts that are nobody's stand in it, by where they begin; the first
// values. 0 or -ENOMEM, and then it is only to be done.
void event_draft_begin(EventDraft *d, Argosy__EventKind kind);
int event_draft_printf(EventDraft *d, size_t *ret_at, const char *format, ...) _printf_(3, 4);
// For a text in pieces, behind event_draft_here(): the pieces, and its end.
static inline size_t event_draft_here(const EventDraft *d) {
        return d->text.len;
}
static inline int event_draft_end_text(EventDraft *d) {
        return buf_append(&d->text, "", 1);
}
static inline const char *event_draft_text(const EventDraft *d, size_t at) {
        return (const char *) d->text.data + at;
}
int event_draft_set(EventDraft *d, const char *const *values, size_t n);
#define EVENT_DRAFT_SET(d, ...)                                \
        event_draft_set(d, (const char *const[]){__VA_ARGS__}, \
                        ELEMENTSOF(((const char *const[]){__VA_ARGS__})))

// 0 or -ENOMEM; *d is to be done in any case.
int event_draft_stream(EventDraft *d, const char *word, uint32_t kinds); // a set of them, or 0
int event_draft_leader(Leader *l, EventDraft *d);
int event_draft_node(Leader *l, const Node *n, EventDraft *d);
int event_draft_drain(Leader *l, const Node *n, EventDraft *d);
int event_draft_unit(Leader *l, const Unit *u, EventDraft *d);
int event_draft_content(Leader *l, const Unit *u, EventDraft *d);
int event_draft_state(Leader *l, const UnitOnNode *s, EventDraft *d);
int event_draft_gone(const GoneObject *g, EventDraft *d);
int event_draft_job(Leader *l, uint64_t number, EventDraft *d);
// The job as list-jobs would show it to the author; not `present`, if the author may not see it.
int event_draft_job_for(Leader *l, const Argosy__Author *author, uint64_t job_number, EventDraft *d);
// A unit, or its content, that the watcher is to forget.
int event_draft_no_unit(Argosy__EventKind kind, const char *name, EventDraft *d);

// The draft as a message, packed: its length first, then the bytes into room for as many. `changed` may be
// NULL.
typedef struct EventMarks {
        Argosy__EventMark mark;
        uint64_t seq, at_us, index;
        uint32_t *changed;
        size_t n_changed;
} EventMarks;
size_t event_draft_size(const EventDraft *d, const EventMarks *m);
void event_draft_pack(const EventDraft *d, const EventMarks *m, uint8_t *ret);
