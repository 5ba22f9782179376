// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What jobs are called and what they name, of each kind of request that becomes one.
#include "test.h"

#include <stdalign.h>

#include "job-words.h"
#include "messages.h"
#include "request-kind.h"

enum { DEPTH_MAX = 3 }; // of messages in messages

static alignas(max_align_t) char arena[64 * 1024]; // of one request
static size_t n_used;

static void *take(size_t size) {
        void *p = arena + n_used;

        n_used += (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
        assert_true(n_used <= sizeof(arena));
        memset(p, 0, size);
        return p;
}

static void *fill(const ProtobufCMessageDescriptor *d, unsigned depth);

static void fill_value(const ProtobufCFieldDescriptor *f, void *value, unsigned depth) {
        switch (f->type) {
        case PROTOBUF_C_TYPE_STRING:
                *(const char **) value = "x";
                break;
        case PROTOBUF_C_TYPE_BYTES:
                *(ProtobufCBinaryData *) value = (ProtobufCBinaryData){1, (uint8_t *) "x"};
                break;
        case PROTOBUF_C_TYPE_MESSAGE:
                *(void **) value = depth < DEPTH_MAX ? fill(f->descriptor, depth + 1) : NULL;
                break;
        case PROTOBUF_C_TYPE_BOOL:
                *(protobuf_c_boolean *) value = true;
                break;
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_SINT64:
        case PROTOBUF_C_TYPE_SFIXED64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
                *(uint64_t *) value = 1;
                break;
        case PROTOBUF_C_TYPE_DOUBLE:
                *(double *) value = 1;
                break;
        default:
                *(uint32_t *) value = 1;
        }
}

// There is something in each field, and one of what there may be several.
static void *fill(const ProtobufCMessageDescriptor *d, unsigned depth) {
        char *m = take(d->sizeof_message);

        d->message_init((ProtobufCMessage *) m);
        for (unsigned i = 0; i < d->n_fields; i++) {
                const ProtobufCFieldDescriptor *f = &d->fields[i];
                void *value = m + f->offset;

                if (f->label == PROTOBUF_C_LABEL_REPEATED) {
                        *(size_t *) (m + f->quantifier_offset) = 1;
                        // there is nothing larger
                        value = *(void **) value = take(sizeof(ProtobufCBinaryData));
                } else if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
                        *(uint32_t *) (m + f->quantifier_offset) = f->id;
                fill_value(f, value, depth);
        }
        return m;
}

static Argosy__Request *request_of(const ProtobufCFieldDescriptor *f) {
        Argosy__Request *q;

        n_used = 0;
        q = take(sizeof(*q));
        *q = (Argosy__Request) MESSAGE_OF(request, .what_case = (Argosy__Request__WhatCase) f->id);
        *(void **) ((char *) q + f->offset) = fill(f->descriptor, 0);
        return q;
}

static void a_job_has_a_name_and_says_what_it_is_about(void **state) {
        for (unsigned i = 0; i < argosy__request__descriptor.n_fields; i++) {
                const ProtobufCFieldDescriptor *f = &argosy__request__descriptor.fields[i];
                const RequestKind *kind = request_kind((Argosy__Request__WhatCase) f->id);
                JobWords words;

                if (!kind || !kind->job.id)
                        continue;
                const Argosy__Request *q = request_of(f);
                assert_ptr_equal(request_job(q), &kind->job);
                if (!*job_verb(q))
                        fail_msg("a job of %s is called nothing", kind->name);
                assert_int_equal(job_words_init(&words, q), 0);
                if ((words.n_targets == 0) != kind->job.nameless)
                        fail_msg("a job of %s names %zu things", kind->name, words.n_targets);
                job_words_done(&words);
        }
}

static uint64_t content_of(Argosy__Request__WhatCase what, const char *path, const char *content) {
        Argosy__Request request = MESSAGE_OF(request, .what_case = what);
        uint64_t hash;
        size_t len;
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "web.service",
                                            .path = (char *) path,
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                             .len = strlen(content)}),
                          *files = &file;
        Argosy__Request__Change change = MESSAGE_OF(request__change, .files = &files, .n_files = 1);
        Argosy__Request__Rollout rollout = ROLLOUT_OF(.file = &file);

        if (what == ARGOSY__REQUEST__WHAT_CHANGE)
                request.change = &change;
        else
                request.rollout = &rollout;
        assert_int_equal(job_request_content(&request, &hash, &len), 0);
        return hash;
}

// Given again from another directory it is the same command.
static void the_path_of_a_file_is_no_part_of_what_is_asked(void **state) {
        static const Argosy__Request__WhatCase kinds[] = {ARGOSY__REQUEST__WHAT_CHANGE,
                                                          ARGOSY__REQUEST__WHAT_ROLLOUT};

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                uint64_t here = content_of(kinds[i], "web.service", "a");

                assert_true(here == content_of(kinds[i], "/root/units/web.service", "a"));
                assert_true(here != content_of(kinds[i], "web.service", "b"));
        }
}

RUN_TESTS(
        cmocka_unit_test(the_path_of_a_file_is_no_part_of_what_is_asked),
        cmocka_unit_test(a_job_has_a_name_and_says_what_it_is_about)
)
