// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// An event as JSON: by the table in event-kind.h, and the same wherever somebody sees one, from argosyctl or
// over HTTP. Pure.

#include "event-cursor.h"
#include "event-kind.h"
#include "json.h"

// Keys and values of its first `n` fields.
void event_fields_json(const Argosy__Event *e, const EventKindInfo *info, size_t n, Json *j);
// The object, and the newline behind it. cursor: behind that event.
void event_json(const Argosy__Event *e, const EventKindInfo *info, const char *cursor, Json *j);
// The cursor behind one event of an answer whose own is `all`; behind the last of them it is that.
void event_cursor_of(const EventCursor *all, const Argosy__Event *e, bool last, char ret[EVENT_CURSOR_SIZE]);
// "state", "missed", "here", or "" of what is new.
const char *event_mark_word(const Argosy__Event *e);
// Whether the field at that index is known to have changed.
bool event_has_changed(const Argosy__Event *e, size_t field);
static inline const char *event_value(const Argosy__Event *e, size_t field) {
        return field < e->n_values ? e->values[field] : "";
}
