// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tag is a cursor, so whether a client's document is the newest follows from comparing two of them, and nobody has to keep what
// was handed out. An index of the log may grow without any news, so it does not count; everything that can be seen has a sequence.

#include "http-etag.h"

#include <string.h>

#include "macro.h"

void http_etag_format(const EventCursor *c, char ret[HTTP_ETAG_SIZE]) {
        size_t len;

        *ret = '"';
        event_cursor_format(c, ret + 1);
        len = strlen(ret);
        ret[len] = '"';
        ret[len + 1] = '\0';
}

bool http_etag_covers(const EventCursor *c, const EventCursor *place) {
        return memcmp(c->cluster, place->cluster, EVENT_CURSOR_CLUSTER) == 0 &&
               c->generation == place->generation && c->term == place->term && c->scope == place->scope &&
               c->mode == EVENT_CURSOR_RING && place->mode == EVENT_CURSOR_RING && c->seq >= place->seq;
}

static bool is_of(const char *tag, size_t len, const EventCursor *place) {
        char text[EVENT_CURSOR_SIZE];
        EventCursor c;

        if (len >= sizeof(text))
                return false;
        memcpy(text, tag, len);
        text[len] = '\0';
        return event_cursor_parse(text, &c) && http_etag_covers(&c, place) && c.seq == place->seq;
}

// W/ before a tag makes no difference here (RFC 9110, 13.1.2), nor does what stands between two.
bool http_etag_matches(const char *header, const EventCursor *place) {
        const char *begin = strchr(header, '"');

        while (begin) {
                const char *end = strchr(begin + 1, '"');

                if (!end)
                        return false;
                if (is_of(begin + 1, (size_t) (end - begin - 1), place))
                        return true;
                begin = strchr(end + 1, '"');
        }
        return false;
}
