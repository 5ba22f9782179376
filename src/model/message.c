// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies of messages, field by field as their descriptors say, which for one of thousands of parts takes
// milliseconds; taking over what one has, which does not; and unpacking that tells a lack of memory
// (-ENOMEM) from broken bytes (-EBADMSG), which protobuf-c does not.
//
// A copy is what packing and unpacking would make of a message, at a fifth of the cost: at every moment it
// is a message that can be freed, so one that cannot be had whole leaves nothing.

#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "argosy.pb-c.h"
#include "macro.h"
#include "pool.h"

// ------------------------------------------------------------------------------------------------ copies

size_t message_field_size(ProtobufCType type) {
        switch (type) {
        case PROTOBUF_C_TYPE_STRING:
        case PROTOBUF_C_TYPE_MESSAGE:
                return sizeof(void *);
        case PROTOBUF_C_TYPE_BYTES:
                return sizeof(ProtobufCBinaryData);
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
        case PROTOBUF_C_TYPE_DOUBLE:
                return sizeof(uint64_t);
        case PROTOBUF_C_TYPE_BOOL:
                return sizeof(protobuf_c_boolean);
        default: // an enum is an int
                return sizeof(uint32_t);
        }
}

static bool copy_bytes(const ProtobufCBinaryData *from, ProtobufCBinaryData *to) {
        if (from->len == 0)
                return true;
        to->data = malloc(from->len);
        if (!to->data)
                return false;
        memcpy(to->data, from->data, from->len);
        to->len = from->len;
        return true;
}

// `to` is as a new message has it, or zero.
static bool copy_value(ProtobufCType type, const void *from, void *to) {
        const void *pointer;

        switch (type) {
        case PROTOBUF_C_TYPE_STRING:
                pointer = *(const char *const *) from;
                return (*(char **) to = strdup(pointer ?: ""));
        case PROTOBUF_C_TYPE_MESSAGE:
                pointer = *(const void *const *) from;
                return (*(void **) to = message_copy(pointer));
        case PROTOBUF_C_TYPE_BYTES:
                return copy_bytes(from, to);
        default:
                memcpy(to, from, message_field_size(type));
                return true;
        }
}

static bool copy_values(const ProtobufCFieldDescriptor *f, const void *from, size_t n, void *to,
                        size_t *to_n) {
        const char *source = *(const char *const *) from;
        size_t size = message_field_size(f->type);
        char *values;

        if (n == 0)
                return true;
        values = calloc(n, size);
        if (!values)
                return false;
        *(char **) to = values;
        while (*to_n < n) { // those that are there are freed if the next one cannot be had
                if (!copy_value(f->type, source + *to_n * size, values + *to_n * size))
                        return false;
                ++*to_n;
        }
        return true;
}

// Nothing of it would be packed, and it has no memory of its own.
static bool is_empty(const ProtobufCFieldDescriptor *f, const void *member) {
        const char *text;

        switch (f->type) {
        case PROTOBUF_C_TYPE_STRING:
                text = *(const char *const *) member;
                return !text || text == f->default_value ||
                       (!*text && !(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF));
        case PROTOBUF_C_TYPE_MESSAGE:
                return !*(const void *const *) member;
        default:
                return false;
        }
}

static bool copy_field(const ProtobufCFieldDescriptor *f, const char *from, char *to) {
        const void *member = from + f->offset, *quantifier = from + f->quantifier_offset;
        bool one_of = f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;

        if (f->label == PROTOBUF_C_LABEL_REPEATED)
                return copy_values(f, member, *(const size_t *) quantifier, to + f->offset,
                                   (size_t *) (to + f->quantifier_offset));
        if (one_of && *(const uint32_t *) quantifier != f->id)
                return true;
        if (is_empty(f, member))
                return true;
        if (!copy_value(f->type, member, to + f->offset))
                return false;
        if (f->quantifier_offset > 0) // which one of them; or whether there is a value
                memcpy(to + f->quantifier_offset, quantifier, sizeof(uint32_t));
        return true;
}

static bool copy_unknown(const ProtobufCMessage *from, ProtobufCMessage *to) {
        if (from->n_unknown_fields == 0)
                return true;
        to->unknown_fields = calloc(from->n_unknown_fields, sizeof(*to->unknown_fields));
        if (!to->unknown_fields)
                return false;
        while (to->n_unknown_fields < from->n_unknown_fields) {
                const ProtobufCMessageUnknownField *f = &from->unknown_fields[to->n_unknown_fields];
                ProtobufCMessageUnknownField *copy = &to->unknown_fields[to->n_unknown_fields++];

                *copy = (ProtobufCMessageUnknownField){
                        .tag = f->tag, .wire_type = f->wire_type, .len = f->len};
                copy->data = malloc(f->len);
                if (!copy->data)
                        return false;
                memcpy(copy->data, f->data, f->len);
        }
        return true;
}

void *message_copy(const void *message) {
        const ProtobufCMessage *m = message;
        const ProtobufCMessageDescriptor *type = m->descriptor;
        ProtobufCMessage *copy = malloc(type->sizeof_message);
        bool whole;

        if (!copy)
                return NULL;
        protobuf_c_message_init(type, copy);
        whole = copy_unknown(m, copy);
        for (unsigned i = 0; whole && i < type->n_fields; i++)
                whole = copy_field(&type->fields[i], message, (char *) copy);
        if (whole)
                return copy;
        message_free(copy);
        return NULL;
}

// ------------------------------------------------------------------------------------------------ secrets

// Values of secrets are in requests, which may be forwarded, and in orders; those of voters are in what they
// are handed. Of a copy that could not be had whole a part may be missing.
typedef void (*EachValue)(ProtobufCBinaryData *value);

static bool each_value(Argosy__SecretValue *const *values, size_t n, EachValue each) {
        for (size_t i = 0; i < n; i++)
                each(&values[i]->value);
        return n > 0;
}

static bool each_of_voter(Argosy__VoterSecret *const *secrets, size_t n, EachValue each) {
        for (size_t i = 0; i < n; i++)
                each(&secrets[i]->value);
        return n > 0;
}

static bool each_to_host(const Argosy__ToHost *m, EachValue each) {
        if (!m->orders) // of whatever message: they are pointers, all in one place
                return false;
        switch (m->msg_case) {
        case ARGOSY__TO_HOST__MSG_ORDERS:
                return each_value(m->orders->secrets, m->orders->n_secrets, each);
        case ARGOSY__TO_HOST__MSG_WELCOME:
                return each_value(m->welcome->secrets, m->welcome->n_secrets, each);
        case ARGOSY__TO_HOST__MSG_WELCOME_PART:
                return each_value(m->welcome_part->secrets, m->welcome_part->n_secrets, each);
        case ARGOSY__TO_HOST__MSG_CALL:
                return each_value(&m->call->registry_auth, m->call->registry_auth != NULL, each);
        case ARGOSY__TO_HOST__MSG_STORE_OPEN:
                return each_of_voter(m->store_open->secrets, m->store_open->n_secrets, each);
        case ARGOSY__TO_HOST__MSG_VOTER_SECRETS:
                return each_of_voter(m->voter_secrets->secrets, m->voter_secrets->n_secrets, each);
        default:
                return false;
        }
}

static bool each_asked(const Argosy__Request *q, EachValue each) {
        if (!q || q->what_case != ARGOSY__REQUEST__WHAT_SECRET_SET || !q->secret_set)
                return false;
        each(&q->secret_set->value);
        return true;
}

// Whether there is any.
static bool each_secret(const ProtobufCMessage *message, EachValue each) {
        const Argosy__ToVoter *m = (const Argosy__ToVoter *) message;

        if (message->descriptor == &argosy__to_host__descriptor)
                return each_to_host((const Argosy__ToHost *) message, each);
        if (message->descriptor == &argosy__request__descriptor)
                return each_asked((const Argosy__Request *) message, each);
        if (message->descriptor == &argosy__to_voter__descriptor &&
            m->msg_case == ARGOSY__TO_VOTER__MSG_FORWARD)
                return m->forward && each_asked(m->forward->request, each);
        return false;
}

static void look_at(ProtobufCBinaryData *value) {
}

bool message_is_secret(const ProtobufCMessage *message) {
        return each_secret(message, look_at);
}

static void wipe_value(ProtobufCBinaryData *value) {
        if (value->data)
                explicit_bzero(value->data, value->len);
}

void message_free(void *message) {
        if (message)
                (void) each_secret(message, wipe_value);
        protobuf_c_message_free_unpacked(message, NULL);
}

// ------------------------------------------------------------------------------------------------ freeing

enum { RETIRED_PARTS = 2048 }; // at some 20 ns each

static bool take_parts(size_t *left, size_t n) {
        bool fits = n <= *left;

        *left -= fits ? n : *left;
        return fits;
}

static bool count_parts(const ProtobufCMessage *m, size_t *left);

static bool count_field(const ProtobufCFieldDescriptor *f, const char *message, size_t *left) {
        const void *member = message + f->offset, *quantifier = message + f->quantifier_offset;
        ProtobufCMessage *const *many;
        size_t n;

        if (f->type != PROTOBUF_C_TYPE_MESSAGE && f->label != PROTOBUF_C_LABEL_REPEATED)
                return true;
        if (f->label != PROTOBUF_C_LABEL_REPEATED) {
                bool other =
                        (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && *(const uint32_t *) quantifier != f->id;
                const ProtobufCMessage *one = other ? NULL : *(ProtobufCMessage *const *) member;

                return !one || count_parts(one, left);
        }
        n = *(const size_t *) quantifier;
        if (f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_BYTES)
                return take_parts(left, n);
        many = *(ProtobufCMessage *const *const *) member;
        for (size_t i = 0; f->type == PROTOBUF_C_TYPE_MESSAGE && i < n; i++)
                if (!count_parts(many[i], left))
                        return false;
        return true;
}

// False: there are more than those.
static bool count_parts(const ProtobufCMessage *m, size_t *left) {
        bool fits = take_parts(left, 1 + m->n_unknown_fields);

        for (unsigned i = 0; fits && i < m->descriptor->n_fields; i++)
                fits = count_field(&m->descriptor->fields[i], (const char *) m, left);
        return fits;
}

// A request is one of sixty kinds: the fields of the others need no look.
static bool count_request(const Argosy__Request *q, size_t *left) {
        // of whatever kind: they are messages, all in one place
        const ProtobufCMessage *what = q->change ? &q->change->base : NULL;

        return take_parts(left, 1 + q->base.n_unknown_fields) && (!what || count_parts(what, left)) &&
               (!q->job || count_parts(&q->job->base, left));
}

static bool is_short(const ProtobufCMessage *m) {
        size_t left = RETIRED_PARTS;

        return m->descriptor == &argosy__request__descriptor
                       ? count_request((const Argosy__Request *) m, &left)
                       : count_parts(m, &left);
}

void message_retire(uv_loop_t *loop, void *message) {
        if (!message || is_short(message))
                message_free(message);
        else
                pool_release(loop, message, message_free);
}

// ------------------------------------------------------------------------------------------------ memory

enum { ALLOCATED = 16 }; // what an allocator takes beside each piece, about

static size_t bytes_of_value(const ProtobufCFieldDescriptor *f, const void *value) {
        const ProtobufCMessage *message;
        const char *text;

        switch (f->type) {
        case PROTOBUF_C_TYPE_STRING:
                text = *(const char *const *) value;
                return !text || text == f->default_value ? 0 : ALLOCATED + strlen(text) + 1;
        case PROTOBUF_C_TYPE_BYTES:
                return ALLOCATED + ((const ProtobufCBinaryData *) value)->len;
        case PROTOBUF_C_TYPE_MESSAGE:
                message = *(const ProtobufCMessage *const *) value;
                return message ? message_bytes(message) : 0;
        default:
                return 0;
        }
}

static size_t bytes_of_field(const ProtobufCFieldDescriptor *f, const char *message) {
        const void *member = message + f->offset, *quantifier = message + f->quantifier_offset;
        size_t size = message_field_size(f->type), n, bytes = 0;

        if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && *(const uint32_t *) quantifier != f->id)
                return 0;
        if (f->label != PROTOBUF_C_LABEL_REPEATED)
                return bytes_of_value(f, member);
        n = *(const size_t *) quantifier;
        for (size_t i = 0; i < n; i++)
                bytes += size + bytes_of_value(f, *(const char *const *) member + i * size);
        return bytes;
}

size_t message_bytes(const void *message) {
        const ProtobufCMessage *m = message;
        size_t bytes = ALLOCATED + m->descriptor->sizeof_message;

        for (unsigned i = 0; i < m->n_unknown_fields; i++)
                bytes += sizeof(*m->unknown_fields) + ALLOCATED + m->unknown_fields[i].len;
        for (unsigned i = 0; i < m->descriptor->n_fields; i++)
                bytes += bytes_of_field(&m->descriptor->fields[i], message);
        return bytes;
}

// ------------------------------------------------------------------------------------------------ taking

void *message_take(void *message) {
        const ProtobufCMessageDescriptor *type = ((const ProtobufCMessage *) message)->descriptor;
        void *taken = malloc(type->sizeof_message);

        if (!taken)
                return NULL;
        memcpy(taken, message, type->sizeof_message);
        protobuf_c_message_init(type, message);
        return taken;
}

// ------------------------------------------------------------------------------------------------ unpacking

typedef struct Noting {
        Arena *arena; // NULL: from the heap
        bool out_of_memory;
} Noting;

static void *noting_alloc(void *data, size_t size) {
        Noting *n = data;
        void *p = n->arena ? arena_alloc(n->arena, size) : malloc(size);

        n->out_of_memory |= !p;
        return p;
}

static void noting_free(void *data, void *p) {
        const Noting *n = data;

        if (!n->arena)
                free(p);
}

static int unpack(Arena *arena, const ProtobufCMessageDescriptor *type, const void *data, size_t len,
                  void **ret) {
        Noting noting = {arena};
        ProtobufCAllocator allocator = {noting_alloc, noting_free, &noting};
        ProtobufCMessage *m = protobuf_c_message_unpack(type, &allocator, len, data);

        if (!m)
                return noting.out_of_memory ? -ENOMEM : -EBADMSG;
        *ret = m;
        return 0;
}

int message_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len, void **ret) {
        return unpack(NULL, type, data, len, ret);
}

int message_unpack_in(Arena *a, const ProtobufCMessageDescriptor *type, const void *data, size_t len,
                      void **ret) {
        return unpack(a, type, data, len, ret);
}

// ------------------------------------------------------------------------------------------------ fields

int field_set(char **field, const char *value) {
        char *copy = value && *value ? strdup(value) : (char *) protobuf_c_empty_string;

        if (!copy)
                return -ENOMEM;
        if (*field != protobuf_c_empty_string)
                free(*field);
        *field = copy;
        return 0;
}

int field_vprintf(char **field, const char *format, va_list ap) {
        char *text = NULL;

        if (vasprintf(&text, format, ap) < 0)
                return -ENOMEM;
        if (*field != protobuf_c_empty_string)
                free(*field);
        *field = text;
        return 0;
}

int field_printf(char **field, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = field_vprintf(field, format, ap);
        va_end(ap);
        return r;
}
