// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One order of fields for packed messages: that of their numbers. A build keeps fields that it does not
// know, and packs them behind all that it knows; the build that made the message, and others that know them,
// have them in their places. Bytes of messages are brought into one order before they are compared. Pure.

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

// In place, in messages within as far as `type` knows them; those of one number stay in their order. 0;
// -EBADMSG: no message, and its order is any; -ENOMEM, likewise. Allocates nothing if it is in order.
int field_order_sort(const ProtobufCMessageDescriptor *type, uint8_t *packed, size_t len)
        __attribute__((warn_unused_result));
