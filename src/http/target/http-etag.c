// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Entity tags of documents and lists, and the comparison with If-None-Match.
//
//      http_etag_format() of the document's cursor -> the client
//          -> http_etag_matches(): 304, as nothing has changed
//      http_list_etag_format(): the leader's tag and the target's checksum
//          -> http_list_etags(): back to the leader's
//
// A tag is a cursor, so nothing is kept per client. The log's index may grow without news and does not
// count. A tag that cannot be read matches nothing. NULL: out of memory.

#include "http-etag.h"

#include <string.h>

#include "buf.h"
#include "hash.h"
#include "macro.h"
#include "str.h"

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

// W/ before a tag makes no difference (RFC 9110, 13.1.2); separators between tags are not checked.
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

enum { NUMBER = 8, TAG_MAX = HTTP_LIST_ETAG_SIZE - NUMBER - 4 }; // hex digits; bytes of the leader's part

static size_t count_hex(const char *text, size_t len) {
        size_t n = 0;

        while (n < len && strchr("0123456789abcdef", text[n]) && text[n])
                n++;
        return n;
}

static void format_number(const char *target, char ret[NUMBER + 1]) {
        str_fit(ret, NUMBER + 1, "%08x", crc32c(0, target, strlen(target)));
}

bool http_list_etag_format(const char *tag, const char *target, char ret[HTTP_LIST_ETAG_SIZE]) {
        size_t len = strnlen(tag, TAG_MAX + 1);
        char number[NUMBER + 1];

        if (len == 0 || len > TAG_MAX || count_hex(tag, len) < len)
                return false;
        format_number(target, number);
        str_fit(ret, HTTP_LIST_ETAG_SIZE, "\"%s-%s\"", tag, number);
        return true;
}

// The length of the leader's part of the tag; 0: it is not a tag of that target.
static size_t part_of_list(const char *tag, size_t len, const char *number) {
        size_t part = len > NUMBER + 1 ? len - NUMBER - 1 : 0;

        return part > 0 && part <= TAG_MAX && count_hex(tag, part) == part && tag[part] == '-' &&
                               memcmp(tag + part + 1, number, NUMBER) == 0
                       ? part
                       : 0;
}

char *http_list_etags(const char *header, const char *target) {
        _cleanup_buf_ Buf out = {};
        char number[NUMBER + 1];

        format_number(target, number);
        for (const char *begin = strchr(header, '"'), *end; begin && (end = strchr(begin + 1, '"'));
             begin = strchr(end + 1, '"')) {
                size_t part = part_of_list(begin + 1, (size_t) (end - begin - 1), number);

                if (part > 0 &&
                    ((out.len > 0 && buf_append(&out, " ", 1) < 0) || buf_append(&out, begin + 1, part) < 0))
                        return NULL;
        }
        return buf_take_string(&out);
}
