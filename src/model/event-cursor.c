// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cursors of the event stream as text and back; event-cursor.h has the format, byte by byte.
//
//      event_cursor_format() -> hex for the client -> the client gives it back -> event_cursor_parse()
//
// Failure: a text that was cut off, mistyped or made up has a wrong length, checksum, version or number and
// is refused.

#include "event-cursor.h"

#include <string.h>

#include "hash.h"
#include "macro.h"
#include "str.h"

enum {
        VERSION = 2,
        NUMBERS = 7,
        NUMBER_MAX = 10, // bytes of a number of 64 bits
        CHECKSUM = 4,
        BYTES_MAX = 1 + EVENT_CURSOR_CLUSTER + NUMBERS * NUMBER_MAX + CHECKSUM,
};

static_assert(2 * BYTES_MAX + 1 <= EVENT_CURSOR_SIZE, "a cursor has room");

static size_t put_number(uint8_t *at, uint64_t n) {
        size_t len = 0;

        for (; n >= 0x80; n >>= 7)
                at[len++] = (uint8_t) (n | 0x80);
        at[len++] = (uint8_t) n;
        return len;
}

// A varint. False: it is cut off, above 64 bits, or longer than necessary.
static bool take_number(const uint8_t **at, const uint8_t *end, uint64_t *ret) {
        uint64_t n = 0;

        for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
                uint8_t byte = *(*at)++;

                if (shift == 63 && byte > 1)
                        return false;
                n |= (uint64_t) (byte & 0x7f) << shift;
                if (byte & 0x80)
                        continue;
                *ret = n;
                return byte != 0 || shift == 0;
        }
        return false;
}

static void put_checksum(uint8_t *at, size_t len) {
        uint32_t crc = crc32c(0, at, len);

        for (unsigned i = 0; i < CHECKSUM; i++)
                at[len + i] = (uint8_t) (crc >> (24 - 8 * i));
}

void event_cursor_format(const EventCursor *c, char ret[EVENT_CURSOR_SIZE]) {
        const uint64_t numbers[NUMBERS] = {c->generation, c->term,  c->mode, c->seq,
                                           c->forgotten,  c->index, c->scope};
        uint8_t bytes[BYTES_MAX] = {VERSION};
        size_t len = 1 + EVENT_CURSOR_CLUSTER;

        memcpy(bytes + 1, c->cluster, EVENT_CURSOR_CLUSTER);
        for (size_t i = 0; i < NUMBERS; i++)
                len += put_number(bytes + len, numbers[i]);
        put_checksum(bytes, len);
        hex_encode(bytes, len + CHECKSUM, ret);
}

static bool has_checksum(const uint8_t *bytes, size_t len) {
        uint8_t copy[BYTES_MAX];

        memcpy(copy, bytes, len - CHECKSUM);
        put_checksum(copy, len - CHECKSUM);
        return memcmp(copy + len - CHECKSUM, bytes + len - CHECKSUM, CHECKSUM) == 0;
}

bool event_cursor_parse(const char *text, EventCursor *ret) {
        size_t len = strnlen(text, EVENT_CURSOR_SIZE) / 2;
        uint64_t numbers[NUMBERS];
        uint8_t bytes[BYTES_MAX];
        const uint8_t *at, *end;

        if (len > BYTES_MAX || len < 1 + EVENT_CURSOR_CLUSTER + CHECKSUM || !hex_decode(text, bytes, len) ||
            bytes[0] != VERSION || !has_checksum(bytes, len))
                return false;
        at = bytes + 1 + EVENT_CURSOR_CLUSTER;
        end = bytes + len - CHECKSUM;
        for (size_t i = 0; i < NUMBERS; i++)
                if (!take_number(&at, end, &numbers[i]))
                        return false;
        if (at != end || numbers[2] > EVENT_CURSOR_MISSED)
                return false;
        *ret = (EventCursor){.generation = numbers[0],
                             .term = numbers[1],
                             .mode = (EventCursorMode) numbers[2],
                             .seq = numbers[3],
                             .forgotten = numbers[4],
                             .index = numbers[5],
                             .scope = numbers[6]};
        memcpy(ret->cluster, bytes + 1, EVENT_CURSOR_CLUSTER);
        return true;
}
