// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Help with protobuf-c's messages.

#include <stdarg.h>
#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>
#include <uv.h>

#include "arena.h"
#include "macro.h"

// A deep copy, to be freed like an unpacked message. NULL: out of memory.
void *message_copy(const void *message);
void message_free(void *message); // NULL is fine; values of secrets are overwritten
// Whether it has any: of requests, and of what is sent between hosts.
bool message_is_secret(const ProtobufCMessage *message);
// The same, by the pool if it has so many parts that the loop would notice.
void message_retire(uv_loop_t *loop, void *message);
// One of its own that has all that `message`, an unpacked one, had: that is empty then. NULL: out of memory.
void *message_take(void *message);

// Bytes that a field of this type takes in a message, or one element of it if it is repeated.
size_t message_field_size(ProtobufCType type);

// About how much memory it has, with all that is in it.
size_t message_bytes(const void *message);

// Unpacks, telling broken bytes from a lack of memory: 0, -EBADMSG or -ENOMEM.
int message_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len, void **ret);
// Likewise, in the arena: it is there until that is reset, and is never freed for itself. Nothing of it may
// be taken.
int message_unpack_in(Arena *a, const ProtobufCMessageDescriptor *type, const void *data, size_t len,
                      void **ret);

// Replaces a string field of a message by a copy. NULL counts as "". -ENOMEM leaves it as it was.
int field_set(char **field, const char *value);
int field_printf(char **field, const char *format, ...) _printf_(2, 3);
int field_vprintf(char **field, const char *format, va_list ap) _printf_(2, 0);
