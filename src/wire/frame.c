// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>

#include "frame.h"

int frame_append(Buf *out, const ProtobufCMessage *message, size_t max) {
        size_t len = protobuf_c_message_get_packed_size(message);
        uint8_t *p;

        if (len > max)
                return -EMSGSIZE;
        p = buf_reserve(out, FRAME_HEADER_SIZE + len);
        if (!p)
                return -ENOMEM;
        p[0] = (uint8_t) (len >> 24);
        p[1] = (uint8_t) (len >> 16);
        p[2] = (uint8_t) (len >> 8);
        p[3] = (uint8_t) len;
        protobuf_c_message_pack(message, p + FRAME_HEADER_SIZE);
        out->len += FRAME_HEADER_SIZE + len;
        return 0;
}

int frame_peek(const void *data, size_t len, size_t max, const uint8_t **ret_payload, size_t *ret_len) {
        const uint8_t *p = data;
        size_t announced;

        if (len < FRAME_HEADER_SIZE)
                return 0;
        announced = (size_t) p[0] << 24 | (size_t) p[1] << 16 | (size_t) p[2] << 8 | (size_t) p[3];
        if (announced > max)
                return -EMSGSIZE;
        if (len - FRAME_HEADER_SIZE < announced)
                return 0;
        *ret_payload = p + FRAME_HEADER_SIZE;
        *ret_len = announced;
        return 1;
}
