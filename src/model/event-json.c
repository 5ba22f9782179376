// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Events as JSON, for argosyctl and HTTP (event-json.h). event_cursor_of() makes the event's cursor ->
// event_json() writes kind, time, cursor, marks and the kind's fields. An object that is gone has only the
// fields that name it. A number that is not known becomes null; memory is json.h's.

#include "event-json.h"

#include "str.h"

const char *event_mark_word(const Argosy__Event *e) {
        return e->mark == ARGOSY__EVENT_MARK__EVENT_WHOLE    ? "state"
               : e->mark == ARGOSY__EVENT_MARK__EVENT_MISSED ? "missed"
               : e->mark == ARGOSY__EVENT_MARK__EVENT_HERE   ? "here"
                                                             : "";
}

bool event_has_changed(const Argosy__Event *e, size_t field) {
        for (size_t k = 0; k < e->n_changed; k++)
                if (e->changed[k] == field)
                        return true;
        return false;
}

static void json_field(Json *j, const EventField *field, const char *value) {
        uint64_t n;

        json_key(j, field->name);
        if (field->type == EVENT_BOOL)
                json_bool(j, *value);
        else if (field->type == EVENT_TEXT)
                json_string(j, value);
        else if (parse_u64(value, UINT64_MAX, &n))
                json_u64(j, n);
        else
                json_null(j);
}

void event_fields_json(const Argosy__Event *e, const EventKindInfo *info, size_t n, Json *j) {
        for (size_t i = 0; i < n; i++)
                json_field(j, &info->fields[i], event_value(e, i));
}

void event_json(const Argosy__Event *e, const EventKindInfo *info, const char *cursor, Json *j) {
        size_t n = e->gone ? info->n_names : event_kind_n_fields(info);

        json_begin(j, '{');
        json_member_string(j, "kind", info->name);
        json_member_u64(j, "time", e->at_us);
        json_member_string(j, "cursor", cursor);
        json_member_string(j, "mark", event_mark_word(e));
        json_member_bool(j, "gone", e->gone);
        json_member_begin(j, "changed", '[');
        for (size_t i = 0; i < n; i++)
                if (event_has_changed(e, i))
                        json_string(j, info->fields[i].name);
        json_end(j, ']');
        event_fields_json(e, info, n, j);
        json_end(j, '}');
        json_finish(j);
}

void event_cursor_of(const EventCursor *all, const Argosy__Event *e, bool last,
                     char ret[EVENT_CURSOR_SIZE]) {
        EventCursor c = *all;

        if (!last) {
                c.seq = e->seq;
                c.index = e->index;
                c.mode = e->mark == ARGOSY__EVENT_MARK__EVENT_WHOLE    ? EVENT_CURSOR_STATE
                         : e->mark == ARGOSY__EVENT_MARK__EVENT_MISSED ? EVENT_CURSOR_MISSED
                                                                       : EVENT_CURSOR_RING;
        }
        event_cursor_format(&c, ret);
}
