// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One order of fields for packed messages, whoever has packed them: that of their numbers. What a build does not know of
// a message it keeps, and packs behind all that it knows; another build that knows it, and whoever made the message, has
// it in its place. Whoever compares bytes brings them into one order first. Pure.

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

// In place, in messages within as far as `type` knows them; those of one number stay in their order. 0; -EBADMSG: no
// message, and its order is any; -ENOMEM, likewise. Allocates nothing if it is in order.
int field_order_sort(const ProtobufCMessageDescriptor *type, uint8_t *packed, size_t len)
        __attribute__((warn_unused_result));
