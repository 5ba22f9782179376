// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The fields of a packed message, one after the other, without unpacking what they hold. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PACKED_VARINT = 0, PACKED_FIXED64 = 1, PACKED_BYTES = 2, PACKED_FIXED32 = 5 };

typedef struct PackedField {
        uint32_t number;
        unsigned wire_type;
        size_t at, len;                 // with its number
        size_t content_at, content_len; // of PACKED_BYTES
} PackedField;

// That at *at, which is moved behind it. False: there is no field.
bool packed_field_take(const uint8_t *packed, size_t len, size_t *at, PackedField *ret);
