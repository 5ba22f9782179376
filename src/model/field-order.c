// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See field-order.h. A message is gone through once, field by field; those that hold messages of a known
// type are sorted within first, which changes no length. Only if one field has a smaller number than the one
// before it, the fields are listed, sorted, and put together anew.

#include "field-order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "macro.h"
#include "packed-field.h"

// NULL: it is none, or of a type that this build does not know.
static const ProtobufCMessageDescriptor *message_in(const ProtobufCMessageDescriptor *type,
                                                    const PackedField *f) {
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(type, f->number);

        return f->wire_type == PACKED_BYTES && field && field->type == PROTOBUF_C_TYPE_MESSAGE
                       ? field->descriptor
                       : NULL;
}

static int compare(const void *a, const void *b) {
        const PackedField *x = a, *y = b;

        if (x->number != y->number)
                return x->number < y->number ? -1 : 1;
        return x->at < y->at ? -1 : x->at > y->at;
}

static int list_fields(const uint8_t *packed, size_t len, PackedField **ret, size_t *ret_n) {
        size_t allocated = 0, at = 0;

        *ret_n = 0;
        while (at < len) {
                if (ARRAY_GROW(*ret, allocated, *ret_n + 1) < 0)
                        return -ENOMEM;
                if (!packed_field_take(packed, len, &at, &(*ret)[(*ret_n)++]))
                        return -EBADMSG;
        }
        return 0;
}

static int put_together(uint8_t *packed, size_t len) {
        _cleanup_free_ uint8_t *copy = malloc(len);
        _cleanup_free_ PackedField *fields = NULL;
        size_t n, at = 0;
        int r = copy ? list_fields(packed, len, &fields, &n) : -ENOMEM;

        if (r < 0)
                return r;
        memcpy(copy, packed, len);
        qsort(fields, n, sizeof(*fields), compare);
        for (size_t i = 0; i < n; i++) {
                memcpy(packed + at, copy + fields[i].at, fields[i].len);
                at += fields[i].len;
        }
        return 0;
}

int field_order_sort(const ProtobufCMessageDescriptor *type, uint8_t *packed, size_t len) {
        bool in_order = true;
        uint32_t last = 0;
        size_t at = 0;

        while (at < len) {
                const ProtobufCMessageDescriptor *inner;
                PackedField f;
                int r;

                if (!packed_field_take(packed, len, &at, &f))
                        return -EBADMSG;
                in_order = in_order && f.number >= last;
                last = f.number;
                inner = message_in(type, &f);
                r = inner ? field_order_sort(inner, packed + f.content_at, f.content_len) : 0;
                if (r < 0)
                        return r;
        }
        return in_order ? 0 : put_together(packed, len);
}
