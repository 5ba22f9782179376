// SPDX-License-Identifier: LGPL-2.1-or-later
//
// JSON, written as it comes, in one line or indented. Commas and line breaks stand before a value, so nobody
// has to know which is the last one. Strings are escaped as RFC 8259 wants.
//
//      value -> `text`, for which there is room for the longest that it can become
//      behind each row (what ends at depth 1), and when much has come together -> the file, where there is one
//
// Most bytes stand for themselves, so eight at a time are looked at and copied; only what is left goes byte by byte, by a table.
// Errors of the file are its owner's to look at; without memory the text is cut, and says so.

#include <string.h>

#include "json.h"
#include "str.h"

enum {
        FLUSH_BYTES = 32 * 1024,
        PIECE_BYTES = 512, // of a string, for which room is made at once
        ESCAPED_MAX = 6,   // bytes that one can become
        NUMBER_MAX = 20,   // digits of 64 bits
        INDENT = 2,
};

// ---- the buffer

static void flush(Json *j) {
        if (j->text.len > 0)
                fwrite(j->text.data, 1, j->text.len, j->f);
        j->text.len = 0;
}

// Room for so many bytes, or NULL: there is none, and `failed` says so.
static uint8_t *make_room(Json *j, size_t max) {
        uint8_t *at;

        if (j->f && j->text.len >= FLUSH_BYTES)
                flush(j);
        at = j->text.allocated - j->text.len >= max ? j->text.data + j->text.len
                                                    : buf_reserve(&j->text, max);
        j->failed |= !at;
        return at;
}

static void end_at(Json *j, const uint8_t *at) {
        j->text.len = (size_t) (at - j->text.data);
}

static void put(Json *j, const char *bytes, size_t len) {
        uint8_t *at = make_room(j, len);

        if (!at)
                return;
        memcpy(at, bytes, len);
        end_at(j, at + len);
}

static void newline(Json *j) {
        size_t indent = (size_t) INDENT * j->depth;
        uint8_t *at = j->pretty ? make_room(j, 1 + indent) : NULL;

        if (!at)
                return;
        *at = '\n';
        memset(at + 1, ' ', indent);
        end_at(j, at + 1 + indent);
}

// What must stand before a value: a comma behind its neighbour, a line break.
static void before(Json *j) {
        if (j->after_key) {
                j->after_key = false;
                return;
        }
        if (j->used[j->depth])
                put(j, ",", 1);
        j->used[j->depth] = true;
        if (j->depth > 0)
                newline(j);
}

void json_begin(Json *j, char bracket) {
        before(j);
        put(j, &bracket, 1);
        assert(j->depth + 1 < JSON_DEPTH_MAX);
        j->used[++j->depth] = false;
}

void json_end(Json *j, char bracket) {
        bool empty = !j->used[j->depth];

        assert(j->depth > 0);
        j->depth--;
        if (!empty)
                newline(j);
        put(j, &bracket, 1);
        if (j->f && j->depth <= 1)
                flush(j);
}

// ---- strings

// What stands behind the backslash; 'u': four digits; 0: the byte stands for itself; 8: it is part of a longer character.
static const uint8_t escapes[256] = {
        [0x00 ... 0x08] = 'u', ['\t'] = 't',  ['\n'] = 'n', [0x0b ... 0x1f] = 'u',
        ['"'] = '"',           ['\\'] = '\\', [0x7f] = 'u', [0x80 ... 0xff] = 8,
};

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

// Not zero if one of the eight bytes is zero. (A byte above a zero one may be taken for another: that is no harm.)
static uint64_t find_zero(uint64_t x) {
        return (x - EACH(1)) & ~x;
}

static bool is_plain(uint64_t x) {
        uint64_t odd = x | find_zero(x ^ EACH('"')) | find_zero(x ^ EACH('\\')) | find_zero(x ^ EACH(0x7f)) |
                       (x - EACH(0x20));

        return !(odd & EACH(0x80));
}

// One character of the string, which is not taken further than its NUL.
static const uint8_t *put_one(uint8_t **at, const uint8_t *p) {
        static const char digits[] = "0123456789abcdef";
        uint8_t escape = escapes[*p], *to = *at;
        size_t n;

        if (escape == 0)
                *to++ = *p++;
        else if (escape == 8 && (n = str_utf8_len(p)) > 0) {
                memcpy(to, p, n);
                to += n;
                p += n;
        } else if (escape == 8) {
                memcpy(to, "\\ufffd", 6);
                to += 6;
                p++;
        } else {
                *to++ = '\\';
                *to++ = escape;
                if (escape == 'u') {
                        *to++ = '0';
                        *to++ = '0';
                        *to++ = (uint8_t) digits[*p >> 4];
                        *to++ = (uint8_t) digits[*p & 15];
                }
                p++;
        }
        *at = to;
        return p;
}

static void put_string(Json *j, const char *s) {
        const uint8_t *p = (const uint8_t *) s, *end = p + strlen(s);

        put(j, "\"", 1);
        while (p < end) {
                const uint8_t *until = p + MIN_OF((size_t) (end - p), (size_t) PIECE_BYTES);
                uint8_t *at = make_room(j, (size_t) (until - p + 4) *
                                                   ESCAPED_MAX); // a character may end behind the piece
                uint64_t eight;

                if (!at)
                        return;
                while (p < until) {
                        if (until - p >= 8) {
                                memcpy(&eight, p, sizeof(eight));
                                if (is_plain(eight)) {
                                        memcpy(at, &eight, sizeof(eight));
                                        at += sizeof(eight);
                                        p += sizeof(eight);
                                        continue;
                                }
                        }
                        p = put_one(&at, p);
                }
                end_at(j, at);
        }
        put(j, "\"", 1);
}

void json_key(Json *j, const char *key) {
        before(j);
        put_string(j, key);
        put(j, ": ", j->pretty ? 2 : 1);
        j->after_key = true;
}

void json_string(Json *j, const char *value) {
        before(j);
        put_string(j, value);
}

void json_strings(Json *j, const char *const pairs[][2], size_t n) {
        for (size_t i = 0; i < n; i++) {
                json_key(j, pairs[i][0]);
                json_string(j, pairs[i][1]);
        }
}

// ---- what is no string

static void put_u64(Json *j, uint64_t value) {
        char digits[NUMBER_MAX], *first = digits + sizeof(digits);

        do
                *--first = (char) ('0' + value % 10);
        while ((value /= 10) > 0);
        put(j, first, (size_t) (digits + sizeof(digits) - first));
}

void json_u64(Json *j, uint64_t value) {
        before(j);
        put_u64(j, value);
}

void json_i64(Json *j, int64_t value) {
        before(j);
        if (value < 0)
                put(j, "-", 1);
        put_u64(j, value < 0 ? -(uint64_t) value : (uint64_t) value);
}

void json_bool(Json *j, bool value) {
        before(j);
        put(j, value ? "true" : "false", value ? 4 : 5);
}

void json_tenths(Json *j, uint64_t tenths) {
        before(j);
        put_u64(j, tenths / 10);
        put(j, ".", 1);
        put_u64(j, tenths % 10);
}

void json_null(Json *j) {
        before(j);
        put(j, "null", 4);
}

void json_finish(Json *j) {
        assert(j->depth == 0);
        put(j, "\n", 1);
        if (!j->f)
                return;
        flush(j);
        json_done(j);
}

void json_done(Json *j) {
        buf_done(&j->text);
}
