// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A length of four bytes and one message. A frame is looked for in what has come so far: it is there, or
// more has to come, or it announces more than its connection may carry, and then the connection ends. What a
// peer packed is taken only if the library could pack it again: a field with the number 0, which its
// unpacking lets through, is refused.

#include <errno.h>

#include "frame.h"
#include "message.h"

static void append(Buf *out, const ProtobufCMessage *message, size_t len) {
        uint8_t *p = out->data + out->len;

        p[0] = (uint8_t) (len >> 24);
        p[1] = (uint8_t) (len >> 16);
        p[2] = (uint8_t) (len >> 8);
        p[3] = (uint8_t) len;
        protobuf_c_message_pack(message, p + FRAME_HEADER_SIZE);
        out->len += FRAME_HEADER_SIZE + len;
}

int frame_append(Buf *out, const ProtobufCMessage *message, size_t max) {
        size_t len = protobuf_c_message_get_packed_size(message);

        if (len > max)
                return -EMSGSIZE;
        out->secret |= message_is_secret(message);
        if (!buf_reserve(out, FRAME_HEADER_SIZE + len))
                return -ENOMEM;
        append(out, message, len);
        return 0;
}

int frame_pack(const ProtobufCMessage *message, size_t max, Buf *ret) {
        size_t len = protobuf_c_message_get_packed_size(message);

        if (len > max)
                return -EMSGSIZE;
        ret->secret |= message_is_secret(message);
        if (!buf_fit(ret, FRAME_HEADER_SIZE + len))
                return -ENOMEM;
        append(ret, message, len);
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

static bool is_sane(const ProtobufCMessage *message);

// Whether the messages in one field of this message are.
static bool field_is_sane(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
        const void *member = (const uint8_t *) message + field->offset;
        const void *quantifier = (const uint8_t *) message + field->quantifier_offset;
        ProtobufCMessage *const *many;

        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
                return true;
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
                bool other = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
                             *(const uint32_t *) quantifier != field->id;
                const ProtobufCMessage *one = other ? NULL : *(ProtobufCMessage *const *) member;

                return !one || is_sane(one);
        }
        many = *(ProtobufCMessage *const *const *) member;
        for (size_t i = 0; i < *(const size_t *) quantifier; i++)
                if (!is_sane(many[i]))
                        return false;
        return true;
}

// Recursion goes as deep as the messages are declared; none contains itself.
static bool is_sane(const ProtobufCMessage *message) {
        for (unsigned i = 0; i < message->n_unknown_fields; i++)
                if (message->unknown_fields[i].tag == 0)
                        return false;
        for (unsigned i = 0; i < message->descriptor->n_fields; i++)
                if (!field_is_sane(message, &message->descriptor->fields[i]))
                        return false;
        return true;
}

ProtobufCMessage *frame_unpack(const ProtobufCMessageDescriptor *kind, const uint8_t *payload, size_t len) {
        ProtobufCMessage *message = protobuf_c_message_unpack(kind, NULL, len, payload);

        if (message && !is_sane(message)) {
                message_free(message);
                return NULL;
        }
        return message;
}
