// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Walks the fields of a packed protobuf message without unpacking it (packed-field.h). packed_field_take()
// per field: its number, wire type and where its content stands in the caller's bytes. False: the bytes are
// not a message, as a varint has no end, a length reaches behind the end, or the type is unknown.

#include "packed-field.h"

#include "macro.h"

enum { VARINT_MAX = 10 }; // bytes

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

static bool take_content(const uint8_t *packed, size_t len, size_t *at, PackedField *f) {
        uint64_t n;

        switch (f->wire_type) {
        case PACKED_VARINT:
                return take_varint(packed, len, at, &n);
        case PACKED_FIXED64:
                return skip(len, at, 8);
        case PACKED_FIXED32:
                return skip(len, at, 4);
        case PACKED_BYTES:
                if (!take_varint(packed, len, at, &n))
                        return false;
                f->content_at = *at;
                f->content_len = (size_t) n;
                return skip(len, at, n);
        default:
                return false;
        }
}

bool packed_field_take(const uint8_t *packed, size_t len, size_t *at, PackedField *ret) {
        uint64_t key;

        *ret = (PackedField){.at = *at};
        if (!take_varint(packed, len, at, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3)
                return false;
        ret->number = (uint32_t) (key >> 3);
        ret->wire_type = (unsigned) (key & 7);
        if (!take_content(packed, len, at, ret))
                return false;
        ret->len = *at - ret->at;
        return true;
}
