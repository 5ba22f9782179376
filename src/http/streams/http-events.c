// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Events as the text of a stream: Server-Sent Events, or JSON by lines (http-events.h).
//
//      a packed response -> http_events_append() -> event by event, from the memo or formatted
//          -> the text, the cursor
//
// An answer without events still has a cursor: for Server-Sent Events it is an id alone, from which a
// browser goes on when it connects again. Kinds of a newer version are left out. Failures: -EBADMSG,
// -ENOMEM.

#include "http-events.h"

#include <errno.h>

#include "event-json.h"
#include "events-memo.h"
#include "macro.h"
#include "message.h"
#include "str.h"

HttpStreamFormat http_events_format(const char *accept) {
        return http_stream_wants_lines(accept) ? HTTP_STREAM_LINES : HTTP_STREAM_SSE;
}

// The JSON has one line break, at its end, so it is one `data:` line.
static int append_json(const Argosy__Event *e, const EventKindInfo *info, const char *cursor, Buf *out) {
        Json j = {.text = *out};

        event_json(e, info, cursor, &j);
        *out = j.text;
        return j.failed ? -ENOMEM : 0;
}

static int append_event(const ProtobufCBinaryData *packed, const EventCursor *all, bool last,
                        HttpStreamFormat format, Buf *out) {
        char cursor[EVENT_CURSOR_SIZE];
        const EventKindInfo *info;
        Argosy__Event *e;
        int r = message_unpack(&argosy__event__descriptor, packed->data, packed->len, (void **) &e);

        if (r < 0)
                return r;
        info = event_kind_info(e->kind);
        event_cursor_of(all, e, last, cursor);
        if (info && format == HTTP_STREAM_SSE)
                r = buf_printf(out, "id: %s\nevent: %s\ndata: ", cursor, info->name);
        if (info && r == 0)
                r = append_json(e, info, cursor, out);
        if (info && r == 0 && format == HTTP_STREAM_SSE)
                r = buf_append(out, "\n", 1);
        message_free(e);
        return r;
}

// A word of the serving host, beside the stream: it has no id, so a browser that connects again goes on
// where it was.
static int append_here(const ProtobufCBinaryData *packed, const char *cursor, HttpStreamFormat format,
                       Buf *out) {
        const EventKindInfo *info;
        Argosy__Event *e;
        int r = message_unpack(&argosy__event__descriptor, packed->data, packed->len, (void **) &e);

        if (r < 0)
                return r;
        info = event_kind_info(e->kind);
        r = info ? 0 : -EBADMSG;
        if (r == 0 && format == HTTP_STREAM_SSE)
                r = buf_printf(out, "event: %s\ndata: ", info->name);
        if (r == 0)
                r = append_json(e, info, cursor, out);
        if (r == 0 && format == HTTP_STREAM_SSE)
                r = buf_append(out, "\n", 1);
        message_free(e);
        return r;
}

static int append_once(const EventsMemoKey *key, const ProtobufCBinaryData *packed, const EventCursor *all,
                       EventsMemo *memo, Buf *out) {
        size_t begin = out->len;
        int r = memo ? events_memo_append(memo, key, out) : 0;

        if (r != 0)
                return MIN_OF(r, 0);
        r = append_event(packed, all, key->last, key->format, out);
        if (r == 0 && memo)
                events_memo_keep(memo, key, out->data + begin, out->len - begin);
        return r;
}

static int append_all(const Argosy__Response__Events *events, HttpStreamFormat format, EventsMemo *memo,
                      Buf *out) {
        char places[EVENT_CURSOR_SIZE]; // the part that the cursors of all events but the last share
        EventCursor all, common;
        int r = event_cursor_parse(events->cursor, &all) ? 0 : -EBADMSG;

        if (r < 0)
                return r;
        common = all;
        common.mode = EVENT_CURSOR_RING;
        common.seq = common.index = 0;
        event_cursor_format(&common, places);
        for (size_t i = 0; r == 0 && i < events->n_events; i++) {
                const ProtobufCBinaryData *packed = &events->events[i];
                bool last = i + 1 == events->n_events;
                EventsMemoKey key = {packed->data, packed->len, last ? events->cursor : places, last,
                                     format};

                r = append_once(&key, packed, &all, memo, out);
        }
        if (r == 0 && events->here.len > 0)
                return append_here(&events->here, events->cursor, format, out);
        if (r == 0 && events->n_events == 0 && format == HTTP_STREAM_SSE)
                r = buf_printf(out, "id: %s\n\n", events->cursor);
        return r;
}

int http_events_append(const HttpPart *part, HttpStreamFormat format, EventsMemo *memo, Buf *out,
                       char cursor[EVENT_CURSOR_SIZE]) {
        Argosy__Response *response;
        int r = message_unpack(&argosy__response__descriptor, part->data, part->len, (void **) &response);

        if (r < 0)
                return r;
        r = response->what_case == ARGOSY__RESPONSE__WHAT_EVENTS
                    ? append_all(response->events, format, memo, out)
                    : -EBADMSG;
        if (r == 0 && !str_copy(cursor, EVENT_CURSOR_SIZE, response->events->cursor))
                r = -EBADMSG;
        message_free(response);
        return r;
}
