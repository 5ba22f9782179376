// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages as text: each field that is not as it is by default, by its name in the protocol. What is long is
// cut.
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "story-message.h"

enum { TEXT_SHOWN = 60, BYTES_SHOWN = 8, CONTENT_SHOWN = 400 };

static void show(FILE *out, const ProtobufCMessage *m);

static void show_text(FILE *out, const char *text) {
        size_t len = strnlen(text, TEXT_SHOWN + 1);

        fputc('\'', out);
        for (size_t i = 0; i < len && i < TEXT_SHOWN; i++)
                fputc(isprint((unsigned char) text[i]) ? text[i] : '|', out);
        fputs(len > TEXT_SHOWN ? "...'" : "'", out);
}

static bool is_text(const ProtobufCBinaryData *b) {
        for (size_t i = 0; i < b->len; i++)
                if (!isprint(b->data[i]) && b->data[i] != '\n')
                        return false;
        return true;
}

static void show_bytes(FILE *out, const ProtobufCBinaryData *b) {
        if (is_text(b)) {
                fprintf(out, "\"");
                for (size_t i = 0; i < b->len && i < CONTENT_SHOWN; i++)
                        fputc(b->data[i] == '\n' ? '|' : b->data[i], out);
                fputs(b->len > CONTENT_SHOWN ? "...\"" : "\"", out);
                return;
        }
        for (size_t i = 0; i < b->len && i < BYTES_SHOWN; i++)
                fprintf(out, "%02x", b->data[i]);
        if (b->len > BYTES_SHOWN)
                fprintf(out, "...(%zu)", b->len);
}

static void show_enum(FILE *out, const ProtobufCEnumDescriptor *type, int value) {
        const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(type, value);

        if (v)
                fputs(v->name, out);
        else
                fprintf(out, "%d", value);
}

static size_t size_of(ProtobufCType type) {
        switch (type) {
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_MESSAGE:
                return sizeof(void *);
        case PROTOBUF_C_TYPE_BYTES:
                return sizeof(ProtobufCBinaryData);
        case PROTOBUF_C_TYPE_BOOL:
                return sizeof(protobuf_c_boolean);
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
        case PROTOBUF_C_TYPE_DOUBLE:
                return sizeof(uint64_t);
        default:
                return sizeof(uint32_t);
        }
}

static bool is_as_by_default(ProtobufCType type, const void *value) {
        static const char zeroes[sizeof(ProtobufCBinaryData)];

        if (type == PROTOBUF_C_TYPE_STRING)
                return !*(char *const *) value || !**(char *const *) value;
        if (type == PROTOBUF_C_TYPE_BYTES)
                return ((const ProtobufCBinaryData *) value)->len == 0;
        return memcmp(value, zeroes, size_of(type)) == 0;
}

static void show_value(FILE *out, const ProtobufCFieldDescriptor *f, const void *value) {
        switch (f->type) {
        case PROTOBUF_C_TYPE_STRING:
                show_text(out, *(char *const *) value);
                break;
        case PROTOBUF_C_TYPE_BYTES:
                show_bytes(out, value);
                break;
        case PROTOBUF_C_TYPE_MESSAGE:
                fputs("{", out);
                show(out, *(ProtobufCMessage *const *) value);
                fputs("}", out);
                break;
        case PROTOBUF_C_TYPE_ENUM:
                show_enum(out, f->descriptor, *(const int *) value);
                break;
        case PROTOBUF_C_TYPE_BOOL:
                fputs(*(const protobuf_c_boolean *) value ? "yes" : "no", out);
                break;
        default:
                if (size_of(f->type) == sizeof(uint64_t))
                        fprintf(out, "%" PRId64, *(const int64_t *) value);
                else
                        fprintf(out, "%" PRId32, *(const int32_t *) value);
        }
}

static void show_field(FILE *out, const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                       bool *first) {
        const char *at = (const char *) m + f->offset;
        size_t n = 1;

        if (f->label == PROTOBUF_C_LABEL_REPEATED) {
                n = *(const size_t *) ((const char *) m + f->quantifier_offset);
                at = *(const char *const *) at;
        } else if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
                if (*(const uint32_t *) ((const char *) m + f->quantifier_offset) != f->id)
                        return;
        } else if (is_as_by_default(f->type, at))
                return;
        for (size_t i = 0; i < n; i++) {
                fprintf(out, "%s%s=", *first ? "" : " ", f->name);
                show_value(out, f, at + i * size_of(f->type));
                *first = false;
        }
}

static void show(FILE *out, const ProtobufCMessage *m) {
        bool first = true;

        for (unsigned i = 0; i < m->descriptor->n_fields; i++)
                show_field(out, m, &m->descriptor->fields[i], &first);
}

void story_message_show(FILE *out, const ProtobufCMessage *m) {
        show(out, m);
        fputc('\n', out);
}
