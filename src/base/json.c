// SPDX-License-Identifier: LGPL-2.1-or-later
//
// JSON, written as it comes, in one line or indented. Commas and line breaks stand before a value, so nobody
// has to know which is the last one. Strings are escaped as RFC 8259 wants, and so is what a terminal would
// obey or would not show as it stands: control characters, also U+0080 to U+009F, and those of direction
// (str_is_seen()).
//
//      value -> `text`, for which there is room for the longest that it can become
//      behind each row (what ends at depth 1), and when much has come together -> the file, where there is
//      one
//
// Most bytes stand for themselves, so eight at a time are looked at and copied; only what is left goes byte
// by byte, by a table. Errors of the file are its owner's to look at; without memory the text is cut, and
// says so.

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

// There is room for it.
static uint8_t *put_newline(const Json *j, uint8_t *at) {
        size_t indent = (size_t) INDENT * j->depth;

        if (!j->pretty)
                return at;
        *at = '\n';
        memset(at + 1, ' ', indent);
        return at + 1 + indent;
}

// Room for a value of so many bytes, behind what must stand before it: a comma behind its neighbour, a line
// break.
static uint8_t *begin_value(Json *j, size_t max) {
        size_t indent = j->pretty ? (size_t) INDENT * j->depth : 0;
        uint8_t *at = make_room(j, 2 + indent + max);

        if (!at || j->after_key) {
                j->after_key = false;
                return at;
        }
        if (j->used[j->depth])
                *at++ = ',';
        j->used[j->depth] = true;
        return j->depth > 0 ? put_newline(j, at) : at;
}

// One without anything to be escaped.
static void put_word(Json *j, const char *word, size_t len) {
        uint8_t *at = begin_value(j, len);

        if (!at)
                return;
        memcpy(at, word, len);
        end_at(j, at + len);
}

void json_begin(Json *j, char bracket) {
        put_word(j, &bracket, 1);
        assert(j->depth + 1 < JSON_DEPTH_MAX);
        j->used[++j->depth] = false;
}

void json_end(Json *j, char bracket) {
        bool empty = !j->used[j->depth];
        uint8_t *at;

        assert(j->depth > 0);
        j->depth--;
        at = make_room(j, 2 + (size_t) INDENT * j->depth);
        if (!at)
                return;
        if (!empty)
                at = put_newline(j, at);
        *at++ = (uint8_t) bracket;
        end_at(j, at);
        if (j->f && j->depth <= 1)
                flush(j);
}

// ---- strings

// What stands behind the backslash; 'u': four digits; 0: the byte stands for itself; 8: it is part of a
// longer character.
static const uint8_t escapes[256] = {
        [0x00 ... 0x08] = 'u', ['\t'] = 't',  ['\n'] = 'n', [0x0b ... 0x1f] = 'u',
        ['"'] = '"',           ['\\'] = '\\', [0x7f] = 'u', [0x80 ... 0xff] = 8,
};

// For a piece of so many bytes, whose last character may end behind it, with what stands around it.
#define PIECE_ROOM(len) (((size_t) (len) + 4) * ESCAPED_MAX + 4)
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

// Not zero if one of the eight bytes of `x` is zero. (A byte above a zero one may count, too: that is no
// harm.)
static uint64_t find_zero(uint64_t x) {
        return (x - EACH(1)) & ~x;
}

static bool is_plain(uint64_t x) {
        uint64_t odd = x | find_zero(x ^ EACH('"')) | find_zero(x ^ EACH('\\')) | find_zero(x ^ EACH(0x7f)) |
                       (x - EACH(0x20));

        return !(odd & EACH(0x80));
}

static uint8_t *put_digits(uint8_t *to, unsigned four) {
        static const char digits[] = "0123456789abcdef";

        *to++ = '\\';
        *to++ = 'u';
        for (int shift = 12; shift >= 0; shift -= 4)
                *to++ = (uint8_t) digits[four >> shift & 15];
        return to;
}

// A character of several bytes. All that is not seen has four digits.
static uint8_t *put_long(uint8_t *to, const uint8_t *p, size_t n) {
        if (!str_is_seen(p, n))
                return put_digits(to, str_character(p, n));
        memcpy(to, p, n);
        return to + n;
}

// One character of the string, which is not taken further than its NUL.
static const uint8_t *put_one(uint8_t **at, const uint8_t *p) {
        uint8_t escape = escapes[*p], *to = *at;
        size_t n;

        if (escape == 0)
                *to++ = *p++;
        else if (escape == 8 && (n = str_utf8_len(p)) > 0) {
                to = put_long(to, p, n);
                p += n;
        } else if (escape == 8 || escape == 'u') {
                to = put_digits(to, escape == 8 ? 0xfffd : *p);
                p++;
        } else {
                *to++ = '\\';
                *to++ = escape;
                p++;
        }
        *at = to;
        return p;
}

// Up to `end`, or behind the character that stands there. There is room for all of it, whatever it becomes.
static const uint8_t *put_piece(uint8_t **to, const uint8_t *p, const uint8_t *end) {
        uint8_t *at = *to;
        uint32_t first, last;
        uint64_t eight;

        while (end - p >= 8) {
                memcpy(&eight, p, sizeof(eight));
                if (is_plain(eight)) {
                        memcpy(at, &eight, sizeof(eight));
                        at += sizeof(eight);
                        p += sizeof(eight);
                } else
                        p = put_one(&at, p);
        }
        if (end - p >= 4) { // two of four bytes, which overlap
                memcpy(&first, p, sizeof(first));
                memcpy(&last, end - sizeof(last), sizeof(last));
                if (is_plain(first | (uint64_t) last << 32)) {
                        memcpy(at, &first, sizeof(first));
                        memcpy(at + (end - p) - sizeof(last), &last, sizeof(last));
                        at += end - p;
                        p = end;
                }
        }
        while (p < end)
                p = put_one(&at, p);
        *to = at;
        return p;
}

// A string, and what stands behind it, if that is not zero.
static void put_string(Json *j, const char *s, char behind) {
        const uint8_t *p = (const uint8_t *) s, *end = p + strlen(s),
                      *until = p + MIN_OF((size_t) (end - p), (size_t) PIECE_BYTES);
        uint8_t *at = begin_value(j, PIECE_ROOM(until - p));

        if (!at)
                return;
        *at++ = '"';
        p = put_piece(&at, p, until);
        while (p < end) {
                end_at(j, at);
                until = p + MIN_OF((size_t) (end - p), (size_t) PIECE_BYTES);
                at = make_room(j, PIECE_ROOM(until - p));
                if (!at)
                        return;
                p = put_piece(&at, p, until);
        }
        *at++ = '"';
        if (behind)
                *at++ = (uint8_t) behind;
        if (behind && j->pretty)
                *at++ = ' ';
        end_at(j, at);
}

void json_key(Json *j, const char *key) {
        put_string(j, key, ':');
        j->after_key = true;
}

void json_string(Json *j, const char *value) {
        put_string(j, value, 0);
}

void json_strings(Json *j, const char *const pairs[][2], size_t n) {
        for (size_t i = 0; i < n; i++)
                json_member_string(j, pairs[i][0], pairs[i][1]);
}

void json_member_begin(Json *j, const char *key, char bracket) {
        json_key(j, key);
        json_begin(j, bracket);
}

void json_member_string(Json *j, const char *key, const char *value) {
        json_key(j, key);
        json_string(j, value);
}

void json_member_u64(Json *j, const char *key, uint64_t value) {
        json_key(j, key);
        json_u64(j, value);
}

void json_member_bool(Json *j, const char *key, bool value) {
        json_key(j, key);
        json_bool(j, value);
}

// ---- what is no string

// Before `end`; returns where it begins. Two digits at a time.
static char *write_u64(uint64_t value, char *end) {
        for (; value >= 100; value /= 100) {
                unsigned two = (unsigned) (value % 100);

                *--end = (char) ('0' + two % 10);
                *--end = (char) ('0' + two / 10);
        }
        if (value >= 10) {
                *--end = (char) ('0' + value % 10);
                value /= 10;
        }
        *--end = (char) ('0' + value);
        return end;
}

void json_u64(Json *j, uint64_t value) {
        char text[NUMBER_MAX], *end = text + sizeof(text), *first = write_u64(value, end);

        put_word(j, first, (size_t) (end - first));
}

void json_i64(Json *j, int64_t value) {
        char text[1 + NUMBER_MAX], *end = text + sizeof(text), *first;

        first = write_u64(value < 0 ? -(uint64_t) value : (uint64_t) value, end);
        if (value < 0)
                *--first = '-';
        put_word(j, first, (size_t) (end - first));
}

void json_bool(Json *j, bool value) {
        put_word(j, value ? "true" : "false", value ? 4 : 5);
}

void json_tenths(Json *j, uint64_t tenths) {
        char text[NUMBER_MAX + 2], *end = text + sizeof(text), *first = end;

        *--first = (char) ('0' + tenths % 10);
        *--first = '.';
        first = write_u64(tenths / 10, first);
        put_word(j, first, (size_t) (end - first));
}

void json_null(Json *j) {
        put_word(j, "null", 4);
}

void json_u64_or_null(Json *j, const char *key, uint64_t value, bool known) {
        json_key(j, key);
        if (known)
                json_u64(j, value);
        else
                json_null(j);
}

void json_finish(Json *j) {
        uint8_t *at = make_room(j, 1);

        assert(j->depth == 0);
        if (at) {
                *at = '\n';
                end_at(j, at + 1);
        }
        if (!j->f)
                return;
        flush(j);
        json_done(j);
}

void json_done(Json *j) {
        buf_done(&j->text);
}
