// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies of messages, by packing and unpacking them, which for one of thousands of parts takes milliseconds; taking over
// what one has, which does not; and unpacking that tells a lack of memory (-ENOMEM) from broken bytes (-EBADMSG), which
// protobuf-c does not.

#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"

enum { ON_STACK_MAX = 1024 };

void *message_copy(const void *message) {
        const ProtobufCMessage *m = message;
        size_t len = protobuf_c_message_get_packed_size(m);
        _cleanup_free_ uint8_t *heap = NULL;
        uint8_t stack[ON_STACK_MAX], *packed = stack;

        if (len > sizeof stack) {
                packed = heap = malloc(len);
                if (!heap)
                        return NULL;
        }
        protobuf_c_message_pack(m, packed);
        return protobuf_c_message_unpack(m->descriptor, NULL, len, packed);
}

void message_free(void *message) {
        protobuf_c_message_free_unpacked(message, NULL);
}

void *message_take(void *message) {
        const ProtobufCMessageDescriptor *type = ((const ProtobufCMessage *) message)->descriptor;
        void *taken = malloc(type->sizeof_message);

        if (!taken)
                return NULL;
        memcpy(taken, message, type->sizeof_message);
        protobuf_c_message_init(type, message);
        return taken;
}

static void *noting_alloc(void *data, size_t size) {
        void *p = malloc(size);

        if (!p)
                *(bool *) data = true;
        return p;
}

static void plain_free(void *data, void *p) {
        free(p);
}

int message_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len, void **ret) {
        bool out_of_memory = false;
        ProtobufCAllocator allocator = {noting_alloc, plain_free, &out_of_memory};
        ProtobufCMessage *m = protobuf_c_message_unpack(type, &allocator, len, data);

        if (!m)
                return out_of_memory ? -ENOMEM : -EBADMSG;
        *ret = m;
        return 0;
}
