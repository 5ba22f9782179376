// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames as a peer may send them. Input: one byte that chooses the kind of connection, one byte for the size
// of the pieces in which the rest arrives. However it is cut, the same frames must come out; and whatever
// unpacks must survive being packed and cut again.
#include <errno.h>
#include <stdio.h>

#include "argosy.pb-c.h"
#include "frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Not assert(): the checks are the point, also where NDEBUG is set.
#define MUST(x)                                                                 \
        do {                                                                    \
                if (!(x)) {                                                     \
                        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
                        abort();                                                \
                }                                                               \
        } while (0)

static const ProtobufCMessageDescriptor *const kinds[] = {
        &argosy__to_voter__descriptor,   &argosy__to_host__descriptor,   &argosy__join_request__descriptor,
        &argosy__join_reply__descriptor, &argosy__join_body__descriptor, &argosy__join_answer__descriptor,
        &argosy__request__descriptor,    &argosy__response__descriptor,
};
static const size_t limits[] = {FRAME_MAX,      FRAME_MAX,      FRAME_MAX_JOIN,  FRAME_MAX_JOIN,
                                FRAME_MAX_JOIN, FRAME_MAX_JOIN, FRAME_MAX_LOCAL, FRAME_MAX_LOCAL};

// What protobuf-c has at a time; the size of each stands in front of it.
typedef struct Asked {
        size_t now, most;
} Asked;

static void *asked_alloc(void *userdata, size_t size) {
        Asked *a = userdata;
        size_t *p = malloc(16 + size);

        if (!p)
                return NULL;
        *p = size;
        a->now += size;
        a->most = MAX_OF(a->most, a->now);
        return (char *) p + 16;
}

static void asked_free(void *userdata, void *p) {
        size_t *at = p ? (size_t *) ((char *) p - 16) : NULL;

        if (at)
                ((Asked *) userdata)->now -= *at;
        free(at);
}

// Whoever counts before it is unpacked has counted enough, and refuses no message.
static void compare_cost(const ProtobufCMessageDescriptor *kind, const uint8_t *payload, size_t len) {
        Asked asked = {};
        ProtobufCAllocator allocator = {asked_alloc, asked_free, &asked};
        size_t cost = frame_cost(kind, payload, len, SIZE_MAX);
        ProtobufCMessage *message = protobuf_c_message_unpack(kind, &allocator, len, payload);

        MUST(!message || cost < SIZE_MAX);
        MUST(asked.most <= cost);
        if (message)
                protobuf_c_message_free_unpacked(message, &allocator);
}

static void unpack_and_pack(const ProtobufCMessageDescriptor *kind, const uint8_t *payload, size_t len) {
        ProtobufCMessage *message = frame_unpack(kind, payload, len), *again;
        _cleanup_buf_ Buf out = {}, twice = {};
        const uint8_t *packed;
        size_t packed_len;

        if (!message)
                return;
        MUST(frame_append(&out, message, SIZE_MAX) == 0);
        MUST(frame_peek(out.data, out.len, SIZE_MAX, &packed, &packed_len) == 1);
        MUST(packed_len + FRAME_HEADER_SIZE == out.len);
        MUST(frame_append(&twice, message, packed_len) == 0);
        if (packed_len > 0)
                MUST(frame_append(&twice, message, packed_len - 1) == -EMSGSIZE);
        again = frame_unpack(kind, packed, packed_len);
        MUST(again);
        MUST(protobuf_c_message_get_packed_size(again) == packed_len);
        protobuf_c_message_free_unpacked(again, NULL);
        protobuf_c_message_free_unpacked(message, NULL);
}

// Frames as they come out when the bytes arrive in pieces: their sizes, and how it ended.
static int cut(const uint8_t *data, size_t size, size_t piece, size_t max, Buf *ret_sizes) {
        const uint8_t *payload;
        size_t done = 0, len;
        int r = 0;

        for (size_t arrived = 0; r >= 0 && arrived < size;) {
                arrived = MIN_OF(arrived + piece, size);
                while ((r = frame_peek(data + done, arrived - done, max, &payload, &len)) > 0) {
                        MUST(payload == data + done + FRAME_HEADER_SIZE);
                        MUST(len <= max && done + FRAME_HEADER_SIZE + len <= arrived);
                        MUST(buf_append(ret_sizes, &len, sizeof(len)) == 0);
                        done += FRAME_HEADER_SIZE + len;
                }
        }
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_buf_ Buf whole = {}, pieces = {};
        const uint8_t *payload;
        size_t kind, piece, done = 0, len;

        if (size < 2)
                return 0;
        kind = data[0] % ELEMENTSOF(kinds);
        piece = data[1] ?: 1;
        data += 2;
        size -= 2;
        MUST(cut(data, size, size ?: 1, limits[kind], &whole) ==
             cut(data, size, piece, limits[kind], &pieces));
        MUST(whole.len == pieces.len && (whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0));
        while (frame_peek(data + done, size - done, limits[kind], &payload, &len) > 0) {
                compare_cost(kinds[kind], payload, len);
                unpack_and_pack(kinds[kind], payload, len);
                done += FRAME_HEADER_SIZE + len;
        }
        return 0;
}
