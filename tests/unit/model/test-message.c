// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies of messages, and what is taken out of one.
#include "test.h"

#include "argosy.pb-c.h"
#include "macro.h"
#include "message.h"
#include "messages.h"

static Argosy__Request *wait_for(char *const *names, size_t n) {
        Argosy__Request__Wait wait = ARGOSY__REQUEST__WAIT__INIT;
        Argosy__Request request = REQUEST_OF(WAIT, wait, &wait);
        Argosy__Request__Wait__Item items[4], *pointers[4];

        assert_true(n <= 4);
        for (size_t i = 0; i < n; i++) {
                items[i] = (Argosy__Request__Wait__Item) MESSAGE_OF(request__wait__item, .name = names[i],
                                                                    .revision = i + 1);
                pointers[i] = &items[i];
        }
        wait.items = pointers;
        wait.n_items = n;
        request.id = 7;
        return message_copy(&request);
}

static void what_is_taken_is_whole_and_leaves_nothing(void **state) {
        char *names[] = {"a.service", "b.service"};
        Argosy__Request *request = wait_for(names, 2);

        assert_non_null(request);
        _cleanup_(message_freep) Argosy__Request *taken = message_take(request);
        assert_non_null(taken);
        assert_int_equal(taken->id, 7);
        assert_int_equal(taken->what_case, ARGOSY__REQUEST__WHAT_WAIT);
        assert_int_equal(taken->wait->n_items, 2);
        assert_string_equal(taken->wait->items[1]->name, "b.service");
        assert_int_equal(taken->wait->items[1]->revision, 2);
        assert_int_equal(request->id, 0);
        assert_int_equal(request->what_case, ARGOSY__REQUEST__WHAT__NOT_SET);
        assert_int_equal(argosy__request__get_packed_size(request), 0);
        message_free(request); // each is freed for itself
}

// ------------------------------------------------------------------------------------------------ copies

static uint64_t dice = 1;

static unsigned roll(unsigned n) {
        dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned) (dice >> 33) % n;
}

static void *make(const ProtobufCMessageDescriptor *type, unsigned depth);

static size_t make_value(const ProtobufCFieldDescriptor *f, void *to, unsigned depth) {
        ProtobufCBinaryData *bytes = to;

        switch (f->type) {
        case PROTOBUF_C_TYPE_STRING:
                *(char **) to = strdup(roll(4) ? "some text" : "");
                return sizeof(char *);
        case PROTOBUF_C_TYPE_MESSAGE:
                *(void **) to = make(f->descriptor, depth);
                return sizeof(void *);
        case PROTOBUF_C_TYPE_BYTES:
                *bytes = (ProtobufCBinaryData){roll(3), calloc(1, 3)};
                return sizeof(*bytes);
        case PROTOBUF_C_TYPE_INT64:
        case PROTOBUF_C_TYPE_UINT64:
        case PROTOBUF_C_TYPE_FIXED64:
                *(uint64_t *) to = roll(3) ? UINT64_MAX : 0;
                return sizeof(uint64_t);
        case PROTOBUF_C_TYPE_BOOL:
                *(protobuf_c_boolean *) to = roll(2);
                return sizeof(protobuf_c_boolean);
        case PROTOBUF_C_TYPE_INT32:
        case PROTOBUF_C_TYPE_SINT32:
        case PROTOBUF_C_TYPE_UINT32:
        case PROTOBUF_C_TYPE_ENUM:
                *(uint32_t *) to = roll(3);
                return sizeof(uint32_t);
        default:
                fail_msg("%s is of a type that has no copy here", f->name);
                return 0;
        }
}

static void make_values(const ProtobufCFieldDescriptor *f, void *to, size_t *ret_n, unsigned depth) {
        size_t n = roll(4);
        char *values = n > 0 ? calloc(n, sizeof(ProtobufCBinaryData)) : NULL, *at = values;

        for (size_t i = 0; i < n; i++)
                at += make_value(f, at, depth);
        *(char **) to = values;
        *ret_n = n;
}

// With a value in about half of the fields, made as unpacking makes it.
static void *make(const ProtobufCMessageDescriptor *type, unsigned depth) {
        ProtobufCMessage *m = malloc(type->sizeof_message);

        protobuf_c_message_init(type, m);
        for (unsigned i = 0; i < type->n_fields; i++) {
                const ProtobufCFieldDescriptor *f = &type->fields[i];
                char *member = (char *) m + f->offset, *quantifier = (char *) m + f->quantifier_offset;
                bool one_of = f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;

                if (roll(2) || (f->type == PROTOBUF_C_TYPE_MESSAGE && depth == 0) ||
                    (one_of && *(const uint32_t *) quantifier > 0))
                        continue;
                if (f->label == PROTOBUF_C_LABEL_REPEATED) {
                        make_values(f, member, (size_t *) quantifier, depth - 1);
                        continue;
                }
                make_value(f, member, depth - 1);
                if (f->quantifier_offset > 0)
                        *(uint32_t *) quantifier = one_of ? f->id : 1;
        }
        return m;
}

static void assert_same(const ProtobufCMessage *one, const ProtobufCMessage *other) {
        size_t n = protobuf_c_message_get_packed_size(one);
        _cleanup_free_ uint8_t *a = malloc(n + 1), *b = malloc(n + 1);

        assert_int_equal(protobuf_c_message_get_packed_size(other), n);
        assert_int_equal(protobuf_c_message_pack(one, a), n);
        assert_int_equal(protobuf_c_message_pack(other, b), n);
        assert_memory_equal(a, b, n);
}

static void a_copy_is_what_was_copied_and_its_own(void **state) {
        static const ProtobufCMessageDescriptor *const types[] = {
                &argosy__request__descriptor,    &argosy__response__descriptor,
                &argosy__log_batch__descriptor,  &argosy__state_image__descriptor,
                &argosy__to_host__descriptor,    &argosy__unit_record__descriptor,
                &argosy__job_record__descriptor, &argosy__host_record__descriptor,
        };

        for (unsigned round = 0; round < 400; round++) {
                ProtobufCMessage *m = make(types[round % ELEMENTSOF(types)], 4), *copy = message_copy(m),
                                 *again;

                assert_non_null(copy);
                assert_same(m, copy);
                again = message_copy(copy);
                message_free(copy);
                assert_same(m, again);
                message_free(again);
                message_free(m);
        }
}

static void what_is_not_known_is_copied_too(void **state) {
        static const uint8_t newer[] = {0xfa, 0xff, 0x3f, 3,    'n', 'e',
                                        'w',  0xf8, 0xff, 0x3f, 1}; // field 131071, twice
        Argosy__Request request = ARGOSY__REQUEST__INIT, *m, *copy;
        uint8_t packed[64];

        request.id = 7;
        size_t n = argosy__request__pack(&request, packed);
        memcpy(packed + n, newer, sizeof(newer));
        n += sizeof(newer);
        m = argosy__request__unpack(NULL, n, packed);
        assert_non_null(m);
        assert_int_equal(m->base.n_unknown_fields, 2);
        copy = message_copy(m);
        assert_non_null(copy);
        assert_same(&m->base, &copy->base);
        assert_int_equal(argosy__request__get_packed_size(copy), n);
        message_free(m);
        message_free(copy);
}

// As packing would leave it out: a pointer that is NULL, and what is as it is by default.
static void what_is_not_there_is_not_in_the_copy(void **state) {
        Argosy__Request m = ARGOSY__REQUEST__INIT, *copy;

        m.what_case = ARGOSY__REQUEST__WHAT_WAIT;
        m.wait = NULL;
        copy = message_copy(&m);
        assert_non_null(copy);
        assert_int_equal(copy->what_case, ARGOSY__REQUEST__WHAT__NOT_SET);
        message_free(copy);
}

// ------------------------------------------------------------------------------------------------ memory

typedef struct Counted {
        size_t bytes;
} Counted;

static void *counted_alloc(void *data, size_t size) {
        ((Counted *) data)->bytes += size;
        return malloc(size);
}

static void counted_free(void *data, void *p) {
        free(p);
}

// What protobuf-c asks for when it unpacks it, without what it needs for a while.
static void assert_counted(const ProtobufCMessage *m) {
        Counted counted = {};
        ProtobufCAllocator allocator = {counted_alloc, counted_free, &counted};
        size_t n = protobuf_c_message_get_packed_size(m), bytes;
        _cleanup_free_ uint8_t *packed = calloc(1, n + 1);

        assert_non_null(packed);
        protobuf_c_message_pack(m, packed);
        _cleanup_(message_freep) ProtobufCMessage *unpacked =
                protobuf_c_message_unpack(m->descriptor, &allocator, n, packed);
        assert_non_null(unpacked);
        bytes = message_bytes(unpacked);
        assert_in_range(bytes, counted.bytes, 3 * counted.bytes + 64);
}

static void its_memory_is_counted_with_all_that_is_in_it(void **state) {
        char *names[] = {"a.service", "b.service", "c.service"};
        _cleanup_(message_freep) Argosy__Request *request = wait_for(names, 3);

        assert_non_null(request);
        assert_counted(&request->base);
        assert_true(message_bytes(request) < 1000);
}

// Two bytes of a frame each.
static void fields_that_nobody_knows_are_counted_too(void **state) {
        enum { FIELDS = 1000 };
        uint8_t packed[4 * FIELDS];

        for (size_t i = 0; i < FIELDS; i++)
                memcpy(packed + 4 * i, (const uint8_t[]){0xf8, 0xff, 0x3f, 1}, 4);
        _cleanup_(message_freep) Argosy__Request *m = argosy__request__unpack(NULL, sizeof(packed), packed);
        assert_non_null(m);
        assert_int_equal(m->base.n_unknown_fields, FIELDS);
        assert_true(message_bytes(m) > 10 * sizeof(packed));
}

static void what_a_unit_or_its_author_sends_is_secret(void **state) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__SecretSet set = ARGOSY__REQUEST__SECRET_SET__INIT;
        Argosy__ToVoter__Forward forward = MESSAGE_OF(to_voter__forward, .request = &request);
        Argosy__ToVoter up = ARGOSY__TO_VOTER__INIT;
        Argosy__SecretValue value = ARGOSY__SECRET_VALUE__INIT, *values[] = {&value};
        Argosy__ToHost__Orders orders = ARGOSY__TO_HOST__ORDERS__INIT;
        Argosy__ToHost down = ARGOSY__TO_HOST__INIT;

        assert_false(message_is_secret(&request.base) || message_is_secret(&up.base) ||
                     message_is_secret(&down.base));
        request.what_case = ARGOSY__REQUEST__WHAT_SECRET_SET;
        request.secret_set = &set;
        assert_true(message_is_secret(&request.base));
        up.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD;
        up.forward = &forward;
        assert_true(message_is_secret(&up.base));
        down.msg_case = ARGOSY__TO_HOST__MSG_ORDERS;
        down.orders = &orders;
        assert_false(message_is_secret(&down.base));
        orders.secrets = values;
        orders.n_secrets = 1;
        assert_true(message_is_secret(&down.base));
}

static void what_a_voter_is_handed_is_secret(void **state) {
        Argosy__VoterSecret secret = ARGOSY__VOTER_SECRET__INIT, *secrets[] = {&secret};
        Argosy__ToHost__StoreOpen open = ARGOSY__TO_HOST__STORE_OPEN__INIT;
        Argosy__ToHost__VoterSecrets handed = ARGOSY__TO_HOST__VOTER_SECRETS__INIT;
        Argosy__ToHost m = TO_HOST_OF(STORE_OPEN, store_open, &open);

        assert_false(message_is_secret(&m.base));
        open.secrets = handed.secrets = secrets;
        open.n_secrets = handed.n_secrets = 1;
        assert_true(message_is_secret(&m.base));
        m.msg_case = ARGOSY__TO_HOST__MSG_VOTER_SECRETS;
        m.voter_secrets = &handed;
        assert_true(message_is_secret(&m.base));
}

RUN_TESTS(
        cmocka_unit_test(a_copy_is_what_was_copied_and_its_own),
        cmocka_unit_test(what_is_not_known_is_copied_too),
        cmocka_unit_test(what_is_not_there_is_not_in_the_copy),
        cmocka_unit_test(its_memory_is_counted_with_all_that_is_in_it),
        cmocka_unit_test(fields_that_nobody_knows_are_counted_too),
        cmocka_unit_test(what_is_taken_is_whole_and_leaves_nothing),
        cmocka_unit_test(what_a_unit_or_its_author_sends_is_secret),
        cmocka_unit_test(what_a_voter_is_handed_is_secret)
)
