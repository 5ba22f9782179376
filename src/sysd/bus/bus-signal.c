// SPDX-License-Identifier: LGPL-2.1-or-later
//
// bus_head_read() says how long a message is; when it is whole, bus_signal_read() goes through the fields of
// its header and leaves a reader at the beginning of its body.
//
// Numbers are aligned to their size, counted from the beginning of the message; the body begins at a
// multiple of 8, so that its own beginning counts as well.

#include "bus-signal.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

// The fields of a header, by their code.
enum { FIELD_PATH = 1, FIELD_INTERFACE = 2, FIELD_MEMBER = 3, FIELD_SIGNATURE = 8 };

static uint32_t read_u32(const uint8_t *p, bool little) {
        uint32_t v;

        memcpy(&v, p, sizeof(v));
        return little ? le32toh(v) : be32toh(v);
}

int bus_head_read(const uint8_t head[BUS_HEAD_BYTES], BusHead *ret) {
        bool little = head[0] == 'l';
        uint32_t body;

        if ((!little && head[0] != 'B') || head[1] == 0 || head[3] != 1)
                return -EBADMSG;
        body = read_u32(head + 4, little);
        *ret = (BusHead){.little = little,
                         .type = head[1],
                         .serial = read_u32(head + 8, little),
                         .n_fields = read_u32(head + 12, little)};
        ret->total = BUS_HEAD_BYTES + ((uint64_t) ret->n_fields + 7) / 8 * 8 + body;
        return 0;
}

// ---- values

static const uint8_t *fail(BusReader *r) {
        r->error = -EBADMSG;
        r->at = r->len;
        return NULL;
}

// The next n bytes, which the reader goes behind; NULL after an error.
static const uint8_t *take(BusReader *r, size_t n) {
        const uint8_t *p = r->data + r->at;

        if (r->error < 0 || r->len - r->at < n)
                return fail(r);
        r->at += n;
        return p;
}

void bus_read_align(BusReader *r, size_t alignment) {
        size_t at = (r->at + alignment - 1) / alignment * alignment;

        if (at > r->len)
                fail(r);
        else
                r->at = at;
}

static uint8_t read_byte(BusReader *r) {
        const uint8_t *p = take(r, 1);

        return p ? *p : 0;
}

uint32_t bus_read_u32(BusReader *r) {
        const uint8_t *p;

        bus_read_align(r, 4);
        p = take(r, 4);
        return p ? read_u32(p, r->little) : 0;
}

uint64_t bus_read_u64(BusReader *r) {
        const uint8_t *p;
        uint64_t v;

        bus_read_align(r, 8);
        p = take(r, 8);
        if (!p)
                return 0;
        memcpy(&v, p, sizeof(v));
        return r->little ? le64toh(v) : be64toh(v);
}

// n bytes of text, and the NUL behind them.
static const char *take_text(BusReader *r, size_t n) {
        const uint8_t *p = n < SIZE_MAX ? take(r, n + 1) : fail(r);

        if (!p)
                return "";
        if (memchr(p, 0, n + 1) != p + n) {
                fail(r);
                return "";
        }
        return (const char *) p;
}

const char *bus_read_string(BusReader *r) {
        return take_text(r, bus_read_u32(r));
}

const char *bus_read_key(BusReader *r, size_t *ret_len) {
        uint32_t n;
        const uint8_t *p;

        bus_read_align(r, 8);
        n = bus_read_u32(r);
        p = take(r, (size_t) n + 1);
        *ret_len = p ? n : 0;
        return p ? (const char *) p : "";
}

const char *bus_read_signature(BusReader *r) {
        return take_text(r, read_byte(r));
}

// ---- types

static size_t alignment_of(char type) {
        switch (type) {
        case 'n':
        case 'q':
                return 2;
        case 'b':
        case 'i':
        case 'u':
        case 'h':
        case 's':
        case 'o':
        case 'a':
                return 4;
        case 'x':
        case 't':
        case 'd':
        case '(':
        case '{':
                return 8;
        default: // y g v, and what is no type at all
                return 1;
        }
}

size_t bus_read_array(BusReader *r, char type) {
        uint32_t n = bus_read_u32(r);

        bus_read_align(r, alignment_of(type));
        if (r->error < 0 || r->len - r->at < n) {
                fail(r);
                return r->len;
        }
        return r->at + n;
}

// What follows the first type of a signature: "a{sv}as" -> "as". NULL: there is none, or it has no end.
static const char *behind_type(const char *signature) {
        size_t open = 0;

        for (const char *p = signature; *p; p++) {
                if (*p == 'a')
                        continue;
                if (*p == '(' || *p == '{')
                        open++;
                else if (*p == ')' || *p == '}') {
                        if (open == 0)
                                return NULL;
                        open--;
                }
                if (open == 0)
                        return p + 1;
        }
        return NULL;
}

static const char *skip_one(BusReader *r, const char *signature, unsigned depth);

static void skip_array(BusReader *r, const char *element) {
        size_t end = bus_read_array(r, *element);

        r->at = end;
}

static void skip_struct(BusReader *r, const char *signature, unsigned depth) {
        bus_read_align(r, 8);
        for (const char *p = signature + 1; p && *p != ')' && *p != '}' && r->error == 0;)
                p = skip_one(r, p, depth);
}

static void skip_variant(BusReader *r, unsigned depth) {
        const char *signature = bus_read_signature(r), *rest = skip_one(r, signature, depth);

        if (!rest || *rest)
                fail(r);
}

// Returns what is behind the type, NULL after an error.
static const char *skip_one(BusReader *r, const char *signature, unsigned depth) {
        const char *rest = behind_type(signature);

        if (!rest || depth == 0 || r->error < 0) {
                fail(r);
                return NULL;
        }
        switch (*signature) {
        case 'y':
                take(r, 1);
                break;
        case 'n':
        case 'q':
                bus_read_align(r, 2);
                take(r, 2);
                break;
        case 'b':
        case 'i':
        case 'u':
        case 'h':
                (void) bus_read_u32(r);
                break;
        case 'x':
        case 't':
        case 'd':
                (void) bus_read_u64(r);
                break;
        case 's':
        case 'o':
                take(r, (size_t) bus_read_u32(r) + 1);
                break;
        case 'g':
                take(r, (size_t) read_byte(r) + 1);
                break;
        case 'a':
                skip_array(r, signature + 1);
                break;
        case '(':
        case '{':
                skip_struct(r, signature, depth - 1);
                break;
        case 'v':
                skip_variant(r, depth - 1);
                break;
        default:
                fail(r);
        }
        return r->error < 0 ? NULL : rest;
}

void bus_skip(BusReader *r, const char *signature) {
        (void) skip_one(r, signature, BUS_DEPTH_MAX);
}

// Bytes of a value of a type of fixed size, which are its alignment, too; 0: it has no fixed size.
static size_t fixed_bytes(char type) {
        switch (type) {
        case 'y':
                return 1;
        case 'n':
        case 'q':
                return 2;
        case 'b':
        case 'i':
        case 'u':
        case 'h':
                return 4;
        case 'x':
        case 't':
        case 'd':
                return 8;
        default:
                return 0;
        }
}

// Most variants that systemd sends hold one number or one text: behind these in one step. False: it is
// something else, or not all there, and nothing was read.
static bool skip_plain_variant(BusReader *r) {
        const uint8_t *p = r->data + r->at;
        size_t fixed, at;

        if (r->error < 0 || r->len - r->at < 3 || p[0] != 1 || p[2] != 0)
                return false;
        fixed = fixed_bytes((char) p[1]);
        if (fixed > 0) {
                at = ((r->at + 3 + fixed - 1) & ~(fixed - 1)) + fixed;
        } else if (p[1] == 's' || p[1] == 'o') {
                at = ((r->at + 3 + 3) & ~(size_t) 3) + 4;
                if (at > r->len)
                        return false;
                at += (size_t) read_u32(r->data + at - 4, r->little) + 1;
        } else
                return false;
        if (at > r->len)
                return false;
        r->at = at;
        return true;
}

void bus_skip_variant(BusReader *r) {
        if (!skip_plain_variant(r))
                skip_variant(r, BUS_DEPTH_MAX);
}

// ---- the header

static void read_field(BusReader *r, BusSignal *s) {
        uint8_t code = read_byte(r);
        const char *signature = bus_read_signature(r), **where = NULL;

        if (code == FIELD_PATH)
                where = &s->path;
        else if (code == FIELD_INTERFACE)
                where = &s->interface;
        else if (code == FIELD_MEMBER)
                where = &s->member;
        if (code == FIELD_SIGNATURE && streq(signature, "g"))
                s->signature = bus_read_signature(r);
        else if (where && streq(signature, code == FIELD_PATH ? "o" : "s"))
                *where = bus_read_string(r);
        else if (where || code == FIELD_SIGNATURE)
                fail(r);
        else if (signature[0] && !signature[1])
                bus_skip(r, signature);
        else
                fail(r); // every field of the specification is of a basic type
}

int bus_signal_read(const BusHead *head, const uint8_t *message, BusSignal *ret) {
        BusReader r = {.data = message,
                       .len = BUS_HEAD_BYTES + (size_t) head->n_fields,
                       .at = BUS_HEAD_BYTES,
                       .little = head->little};
        size_t body_at = (r.len + 7) / 8 * 8;

        *ret = (BusSignal){.signature = ""};
        while (r.at < r.len && r.error == 0) {
                bus_read_align(&r, 8);
                read_field(&r, ret);
        }
        if (r.error < 0 || !ret->path || !ret->interface || !ret->member)
                return -EBADMSG;
        ret->body = (BusReader){
                .data = message + body_at, .len = (size_t) head->total - body_at, .little = head->little};
        return 0;
}
