// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How much memory a message takes when it is unpacked, known before it is: what two bytes of a frame make
// can be a hundred. The fields are walked along as they lie there, by the descriptor, and each adds what
// protobuf-c is going to ask for.
//
// That ends as soon as it is more than somebody wants to give, so it costs no more than that allows. Bytes
// that are no message are SIZE_MAX: nobody need try.

#include "frame.h"

#include "macro.h"

enum {
        WIRE_VARINT = 0,
        WIRE_64 = 1,
        WIRE_BYTES = 2,
        WIRE_32 = 5,
        TAG_BITS = 3,
        SCANNED = 40,  // bytes that protobuf-c notes of each field while it unpacks a message
        ON_STACK = 16, // so many of which have no memory of their own
};

typedef struct Walk {
        const uint8_t *at;
        size_t most;
        size_t kept; // bytes of what there will be
        size_t most_scanned; // and beside it for a while
} Walk;

// What an allocator takes for so many bytes, at the most: its sizes are a quarter apart.
static size_t allocated(size_t n) {
        return n + n / 4 + 16;
}

static bool take_varint(Walk *w, const uint8_t *end, uint64_t *ret) {
        *ret = 0;
        for (unsigned shift = 0; w->at < end && shift < 70; shift += 7) {
                uint8_t byte = *w->at++;

                if (shift < 64)
                        *ret |= (uint64_t) (byte & 0x7f) << shift;
                if (!(byte & 0x80))
                        return true;
        }
        return false;
}

// *ret_len: of the value, which is at w->at.
static bool take_value(Walk *w, const uint8_t *end, unsigned type, size_t *ret_len) {
        const uint8_t *at = w->at;
        uint64_t len;

        switch (type) {
        case WIRE_VARINT:
                if (!take_varint(w, end, &len))
                        return false;
                len = (uint64_t) (w->at - at);
                w->at = at;
                break;
        case WIRE_64:
        case WIRE_32:
                len = type == WIRE_64 ? 8 : 4;
                break;
        case WIRE_BYTES:
                if (!take_varint(w, end, &len))
                        return false;
                break;
        default:
                return false;
        }
        if (len > (uint64_t) (end - w->at))
                return false;
        *ret_len = (size_t) len;
        return true;
}

static bool walk(Walk *w, const ProtobufCMessageDescriptor *kind, const uint8_t *end, size_t scanned);

// A repeated field has an array of these besides.
static size_t element_of(const ProtobufCFieldDescriptor *f) {
        return f->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData) : sizeof(uint64_t);
}

static bool add_field(Walk *w, const ProtobufCFieldDescriptor *f, unsigned type, size_t len,
                      size_t scanned) {
        const uint8_t *end = w->at + len;

        if (!f) {
                w->kept += allocated(sizeof(ProtobufCMessageUnknownField)) + allocated(len);
                return true;
        }
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
                w->kept += 2 * element_of(f);
        switch (f->type) {
        case PROTOBUF_C_TYPE_MESSAGE:
                return type == WIRE_BYTES && walk(w, f->descriptor, end, scanned);
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_BYTES:
                w->kept += allocated(len + 1);
                return true;
        default: // packed ones have a byte at the least
                if (f->label == PROTOBUF_C_LABEL_REPEATED && type == WIRE_BYTES)
                        w->kept += sizeof(uint64_t) * len;
                return true;
        }
}

// `scanned`: bytes that are noted of the messages around it.
static bool walk(Walk *w, const ProtobufCMessageDescriptor *kind, const uint8_t *end, size_t scanned) {
        const ProtobufCFieldDescriptor *f = NULL;
        const uint8_t *behind;
        size_t n = 0, len;
        uint64_t key;

        w->kept += allocated(kind->sizeof_message);
        while (w->at < end) {
                if (!take_varint(w, end, &key) || key >> TAG_BITS > UINT32_MAX ||
                    !take_value(w, end, key & 7, &len))
                        return false;
                if (++n > ON_STACK)
                        scanned += 2 * SCANNED; // the array doubles
                w->most_scanned = MAX_OF(w->most_scanned, scanned);
                if (!f || f->id != key >> TAG_BITS)
                        f = protobuf_c_message_descriptor_get_field(kind, (unsigned) (key >> TAG_BITS));
                behind = w->at + len;
                if (!add_field(w, f, key & 7, len, scanned) || w->kept + w->most_scanned > w->most)
                        return false;
                w->at = behind;
        }
        return true;
}

size_t frame_cost(const ProtobufCMessageDescriptor *kind, const uint8_t *payload, size_t len, size_t most) {
        Walk w = {.at = payload, .most = most};

        return walk(&w, kind, payload + len, 0) ? w.kept + w.most_scanned : SIZE_MAX;
}
