// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Walks over a decoded message: what protobuf-c could not place at all, then, of the fields that are set,
// those that came with a later level, values that an enum does not have, and the messages inside.
//
// A field that has its default is not on the wire, so an older build misses nothing: it counts as not set.
// The levels of fields are only compared in messages that the table names.
#include "log-format.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "argosy.pb-c.h"
#include "feature-level.h"
#include "macro.h"

// ------------------------------------------------------------------------------------------------ the table

// What the log may contain beyond the first level. A LogOp's operations are fields of it. An enum's new
// value has a line like a field, with the enum's descriptor.
static const struct LaterPart {
        const void *descriptor; // of the message or the enum
        int64_t number;         // of the field, or the value
        uint32_t level;
} later_parts[] = {
        {&argosy__cluster_record__descriptor, 1000, FEATURE_SYNTHETIC}, // synthetic
};

static bool has_later_parts(const void *descriptor) {
        for (size_t i = 0; i < ELEMENTSOF(later_parts); i++)
                if (later_parts[i].descriptor == descriptor)
                        return true;
        return false;
}

static uint32_t level_of(const void *descriptor, int64_t number) {
        for (size_t i = 0; i < ELEMENTSOF(later_parts); i++)
                if (later_parts[i].descriptor == descriptor && later_parts[i].number == number)
                        return later_parts[i].level;
        return FEATURE_BASE;
}

static bool came_later(const void *descriptor, int64_t number, uint32_t level) {
        return level < FEATURE_NEWEST && level_of(descriptor, number) > level;
}

// ------------------------------------------------------------------------------------------------ the walk

typedef struct Walk {
        uint32_t level;
        char *what;
} Walk;

static int refuse(const Walk *w, const char *kind, int64_t number, const char *where) {
        if (w->what)
                snprintf(w->what, LOG_FORMAT_WHAT_MAX, "%s %lld of %s", kind, (long long) number, where);
        return -EPROTONOSUPPORT;
}

static size_t element_size(const ProtobufCFieldDescriptor *f) {
        return f->type == PROTOBUF_C_TYPE_MESSAGE ? sizeof(void *) : sizeof(int);
}

// The values of the field: *ret_n of them, one behind the other.
static const char *values_of(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t *ret_n) {
        const char *member = (const char *) m + f->offset;

        if (f->label != PROTOBUF_C_LABEL_REPEATED) {
                *ret_n = 1;
                return member;
        }
        *ret_n = *(const size_t *) ((const char *) m + f->quantifier_offset);
        return *(const char *const *) member;
}

static bool is_set(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
        const void *member = (const char *) m + f->offset;
        const void *quantifier = (const char *) m + f->quantifier_offset;

        if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
                return *(const uint32_t *) quantifier == f->id;
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
                return *(const size_t *) quantifier > 0;
        switch (f->type) {
        case PROTOBUF_C_TYPE_MESSAGE:
                return *(void *const *) member;
        case PROTOBUF_C_TYPE_STRING:
                return *(const char *const *) member && **(const char *const *) member;
        case PROTOBUF_C_TYPE_BYTES:
                return ((const ProtobufCBinaryData *) member)->len > 0;
        case PROTOBUF_C_TYPE_BOOL:
                return *(const protobuf_c_boolean *) member;
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
        case PROTOBUF_C_TYPE_DOUBLE:
                return *(const uint64_t *) member != 0;
        default:
                return *(const uint32_t *) member != 0;
        }
}

static int check_message(const Walk *w, const ProtobufCMessage *m);

static int check_enum(const Walk *w, const ProtobufCEnumDescriptor *e, int value) {
        if (!protobuf_c_enum_descriptor_get_value(e, value) || came_later(e, value, w->level))
                return refuse(w, "value", value, e->short_name);
        return 0;
}

static int check_values(const Walk *w, const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
        size_t n;
        const char *value = values_of(m, f, &n);
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++, value += element_size(f))
                r = f->type == PROTOBUF_C_TYPE_MESSAGE
                            ? check_message(w, *(const ProtobufCMessage *const *) value)
                            : check_enum(w, f->descriptor, *(const int *) value);
        return r;
}

static int check_message(const Walk *w, const ProtobufCMessage *m) {
        const ProtobufCMessageDescriptor *d = m->descriptor;
        bool nested, later = w->level < FEATURE_NEWEST && has_later_parts(d);
        int r = 0;

        if (m->n_unknown_fields > 0)
                return refuse(w, "field", m->unknown_fields[0].tag, d->short_name);
        for (unsigned i = 0; r == 0 && i < d->n_fields; i++) {
                const ProtobufCFieldDescriptor *f = &d->fields[i];

                nested = f->type == PROTOBUF_C_TYPE_MESSAGE || f->type == PROTOBUF_C_TYPE_ENUM;
                if ((!nested && !later) || !is_set(m, f))
                        continue;
                if (later && came_later(d, f->id, w->level))
                        return refuse(w, "field", f->id, d->short_name);
                if (nested)
                        r = check_values(w, m, f);
        }
        return r;
}

int log_format_check(const ProtobufCMessage *message, uint32_t level, char ret_what[LOG_FORMAT_WHAT_MAX]) {
        return check_message(&(Walk){level, ret_what}, message);
}
