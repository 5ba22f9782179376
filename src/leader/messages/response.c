// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Responses that own all that they point to. NULL or -ENOMEM: out of memory, which request_send() turns into
// an answer of its own. An answer that is too long loses the reasons of single nodes first; if that is not
// enough, it becomes an error that says so, and whether something was changed nevertheless.

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "carried-files.h"
#include "response.h"

#include "array.h"
#include "content-image.h"
#include "str.h"
#include "unit-file.h"
#include "unit-parts.h"
#include "unit-state.h"

// Every message begins with the same base; init knows its size from the descriptor.
static void *message_new(const ProtobufCMessageDescriptor *type) {
        void *m = calloc(1, type->sizeof_message);

        if (m)
                protobuf_c_message_init(type, m);
        return m;
}

static const ProtobufCMessageDescriptor *what_type(Argosy__Response__WhatCase what) {
        const ProtobufCFieldDescriptor *f =
                protobuf_c_message_descriptor_get_field(&argosy__response__descriptor, (unsigned) what);

        return f->descriptor;
}

Argosy__Response *response_new(Argosy__Response__WhatCase what) {
        Argosy__Response *r = message_new(&argosy__response__descriptor);

        if (!r || what == ARGOSY__RESPONSE__WHAT__NOT_SET)
                return r;
        r->what_case = what;
        r->change = message_new(what_type(what)); // the members of the union are pointers, all in one place
        if (!r->change) {
                r->what_case = ARGOSY__RESPONSE__WHAT__NOT_SET;
                message_free(r);
                return NULL;
        }
        return r;
}

Argosy__Response *response_progress(size_t left) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);

        if (r)
                r->progress->remaining = (uint32_t) left;
        return r;
}

Argosy__Response *response_error(int status, const char *format, ...) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);
        va_list ap;

        if (!r)
                return NULL;
        r->status = status;
        r->final = true;
        va_start(ap, format);
        (void) field_vprintf(&r->message, format, ap); // without the words the number still tells
        va_end(ap);
        return r;
}

static void drop_refusals(Argosy__Response__UnitResult *u) {
        for (size_t i = 0; i < u->n_refusals; i++)
                message_free(u->refusals[i]);
        free(u->refusals);
        u->refusals = NULL;
        u->n_refusals = 0;
}

int response_fit(Argosy__Response *r, size_t max) {
        size_t bytes = argosy__response__get_packed_size(r), n = 0;
        Argosy__Response__UnitResult **results = NULL;

        if (r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE) {
                results = r->change->units;
                n = r->change->n_units;
        } else if (r->what_case == ARGOSY__RESPONSE__WHAT_PROGRESS) {
                results = r->progress->done;
                n = r->progress->n_done;
        }
        while (bytes > max && n > 0) {
                Argosy__Response__UnitResult *u = results[--n];
                size_t before = protobuf_c_message_get_packed_size(&u->base);

                drop_refusals(u);
                bytes -= before - protobuf_c_message_get_packed_size(&u->base);
        }
        return bytes > max ? -EMSGSIZE : 0;
}

Argosy__Response *response_too_long(size_t bytes, bool made) {
        if (made)
                return response_error(
                        EMSGSIZE,
                        "the change was made, but for units that were refused; only its answer, "
                        "%zu bytes, is longer than %d MiB: look at the units themselves",
                        bytes, ANSWER_BYTES_MAX >> 20);
        return response_error(E2BIG, "the answer is longer than %d MiB (%zu bytes by now): ask about fewer",
                              ANSWER_BYTES_MAX >> 20, bytes);
}

Argosy__Response *response_no_label(const Argosy__Label *label) {
        return response_error(EINVAL,
                              "'%s=%s' is no label: key and value are 1 to %d letters, digits and ._/-",
                              label->key, label->value, LABEL_MAX);
}

// What is no name of a unit may be as long as a request: an answer is not.
static int set_name(Argosy__Response__UnitResult *u, const char *name) {
        size_t len = str_cut(name, UNIT_NAME_MAX);

        return name[len] ? field_printf(&u->name, "%.*s...", (int) len, name) : field_set(&u->name, name);
}

Argosy__Response__UnitResult *unit_result_new(const char *name) {
        Argosy__Response__UnitResult *u = message_new(&argosy__response__unit_result__descriptor);

        if (u && set_name(u, name) < 0) {
                message_free(u);
                return NULL;
        }
        return u;
}

int unit_results_move(Argosy__Response__Change *from, Argosy__Response__Change *to) {
        if (from->n_units == 0)
                return 0;
        if (ARRAY_RESERVE(to->units, to->n_units + from->n_units) < 0)
                return -ENOMEM;
        memcpy(to->units + to->n_units, from->units, from->n_units * sizeof(*from->units));
        to->n_units += from->n_units;
        from->n_units = 0;
        return 0;
}

Argosy__Refusal *refusal_new(const char *node, const char *reason) {
        Argosy__Refusal *f = message_new(&argosy__refusal__descriptor);

        if (f && (field_set(&f->node, node) < 0 || field_set(&f->reason, reason) < 0)) {
                message_free(f);
                return NULL;
        }
        return f;
}

int status_set_outcome(Argosy__Response__Status *s, const Argosy__Outcome *o) {
        return field_set(&s->outcome, o ? outcome_to_string(o->kind) : "");
}

int status_set_drop_ins(Argosy__Response__Status *s, const void *content, size_t len) {
        UnitPart part;
        UnitParts p;

        unit_parts_begin(&p, content, carried_files_text_len(content, len));
        (void) unit_parts_next(&p, &part);
        while (unit_parts_next(&p, &part)) {
                if (memmem(part.path, part.path_len, "/" CONTENT_IMAGE_DROP_IN,
                           strlen("/" CONTENT_IMAGE_DROP_IN)))
                        continue; // unit_row_set_image() says that
                char *path = strndup(part.path, part.path_len);

                if (!path || ARRAY_RESERVE(s->drop_ins, s->n_drop_ins + 1) < 0) {
                        free(path);
                        return -ENOMEM;
                }
                s->drop_ins[s->n_drop_ins++] = path;
        }
        return 0;
}

int status_set_files(Argosy__Response__Status *s, const void *content, size_t len) {
        _cleanup_carried_files_ CarriedFiles files = {};

        if (carried_files_read(content, len, &files) < 0 || files.n == 0)
                return 0;
        s->files = calloc(files.n, sizeof(*s->files));
        if (!s->files)
                return -ENOMEM;
        while (s->n_files < files.n) {
                s->files[s->n_files] = TAKE_PTR(files.list[s->n_files].name);
                s->n_files++;
        }
        return 0;
}

Argosy__Label *label_new(const char *key, const char *value) {
        Argosy__Label *l = message_new(&argosy__label__descriptor);

        if (l && (field_set(&l->key, key) < 0 || field_set(&l->value, value) < 0)) {
                message_free(l);
                return NULL;
        }
        return l;
}

void spec_short(const ProtobufCBinaryData *hash, char ret[static 8]) {
        char hex[2 * 4 + 1] = "";

        if (hash->len >= 4)
                hex_encode(hash->data, 4, hex);
        snprintf(ret, 8, "%.7s", hex);
}
