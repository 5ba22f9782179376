// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See field-order.h. A message is gone through once, field by field; those that hold messages of a known type are sorted
// within first, which changes no length. Only if one field has a smaller number than the one before it, the fields are
// listed, sorted, and put together anew.

#include "field-order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "macro.h"

enum { VARINT_MAX = 10 }; // bytes
enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

typedef struct Field {
        uint32_t number;
        unsigned wire_type;
        size_t at, len;                 // with its number
        size_t content_at, content_len; // of WIRE_BYTES
} Field;

static bool take_varint(const uint8_t *packed, size_t len, size_t *at, uint64_t *ret) {
        uint64_t n = 0;

        for (unsigned i = 0; i < VARINT_MAX && *at < len; i++) {
                uint8_t byte = packed[(*at)++];

                n |= (uint64_t) (byte & 0x7f) << (7 * i);
                if (!(byte & 0x80)) {
                        *ret = n;
                        return true;
                }
        }
        return false;
}

static bool skip(size_t len, size_t *at, uint64_t n) {
        if (n > len - *at)
                return false;
        *at += (size_t) n;
        return true;
}

static bool take_content(const uint8_t *packed, size_t len, size_t *at, Field *f) {
        uint64_t n;

        switch (f->wire_type) {
        case WIRE_VARINT:
                return take_varint(packed, len, at, &n);
        case WIRE_FIXED64:
                return skip(len, at, 8);
        case WIRE_FIXED32:
                return skip(len, at, 4);
        case WIRE_BYTES:
                if (!take_varint(packed, len, at, &n))
                        return false;
                f->content_at = *at;
                f->content_len = (size_t) n;
                return skip(len, at, n);
        default:
                return false;
        }
}

static bool take_field(const uint8_t *packed, size_t len, size_t *at, Field *ret) {
        uint64_t key;

        *ret = (Field){.at = *at};
        if (!take_varint(packed, len, at, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3)
                return false;
        ret->number = (uint32_t) (key >> 3);
        ret->wire_type = (unsigned) (key & 7);
        if (!take_content(packed, len, at, ret))
                return false;
        ret->len = *at - ret->at;
        return true;
}

// NULL: it is none, or of a type that this build does not know.
static const ProtobufCMessageDescriptor *message_in(const ProtobufCMessageDescriptor *type, const Field *f) {
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, f->number);

        return f->wire_type == WIRE_BYTES && field && field->type == PROTOBUF_C_TYPE_MESSAGE
                       ? field->descriptor
                       : NULL;
}

static int compare(const void *a, const void *b) {
        const Field *x = a, *y = b;

        if (x->number != y->number)
                return x->number < y->number ? -1 : 1;
        return x->at < y->at ? -1 : x->at > y->at;
}

static int list_fields(const uint8_t *packed, size_t len, Field **ret, size_t *ret_n) {
        size_t allocated = 0, at = 0;

        *ret_n = 0;
        while (at < len) {
                if (ARRAY_GROW(*ret, allocated, *ret_n + 1) < 0)
                        return -ENOMEM;
                if (!take_field(packed, len, &at, &(*ret)[(*ret_n)++]))
                        return -EBADMSG;
        }
        return 0;
}

static int put_together(uint8_t *packed, size_t len) {
        _cleanup_free_ uint8_t *copy = malloc(len);
        _cleanup_free_ Field *fields = NULL;
        size_t n, at = 0;
        int r = copy ? list_fields(packed, len, &fields, &n) : -ENOMEM;

        if (r < 0)
                return r;
        memcpy(copy, packed, len);
        qsort(fields, n, sizeof(*fields), compare);
        for (size_t i = 0; i < n; i++) {
                memcpy(packed + at, copy + fields[i].at, fields[i].len);
                at += fields[i].len;
        }
        return 0;
}

int field_order_sort(const ProtobufCMessageDescriptor *type, uint8_t *packed, size_t len) {
        bool in_order = true;
        uint32_t last = 0;
        size_t at = 0;

        while (at < len) {
                const ProtobufCMessageDescriptor *inner;
                Field f;
                int r;

                if (!take_field(packed, len, &at, &f))
                        return -EBADMSG;
                in_order = in_order && f.number >= last;
                last = f.number;
                inner = message_in(type, &f);
                r = inner ? field_order_sort(inner, packed + f.content_at, f.content_len) : 0;
                if (r < 0)
                        return r;
        }
        return in_order ? 0 : put_together(packed, len);
}
