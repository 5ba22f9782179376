// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <malloc.h>

#include "argosy.pb-c.h"
#include "frame.h"
#include "messages.h"

static const uint8_t *payload;
static size_t len;

static void a_frame_is_its_length_and_its_message(void **state) {
        Argosy__ToVoter__Beat beat = MESSAGE_OF(to_voter__beat, .seq = 5);
        Argosy__ToVoter message =
                                MESSAGE_OF(to_voter, .msg_case = ARGOSY__TO_VOTER__MSG_BEAT, .beat = &beat),
                        *back;
        _cleanup_buf_ Buf out = {};

        assert_int_equal(frame_append(&out, &message.base, 4), 0);
        assert_int_equal(out.len, 8);
        assert_memory_equal(out.data, "\0\0\0\4\x1a\2\x08\5", 8);
        assert_int_equal(frame_append(&out, &message.base, 3), -EMSGSIZE);
        assert_int_equal(out.len, 8);
        assert_int_equal(frame_peek(out.data, out.len, 4, &payload, &len), 1);
        back = (Argosy__ToVoter *) frame_unpack(&argosy__to_voter__descriptor, payload, len);
        assert_non_null(back);
        assert_int_equal(back->beat->seq, 5);
        argosy__to_voter__free_unpacked(back, NULL);
}

static void a_frame_is_not_there_before_its_last_byte(void **state) {
        static const uint8_t bytes[] = {0, 0, 1, 0};
        uint8_t whole[4 + 256] = {};

        memcpy(whole, bytes, 4);
        for (size_t n = 0; n < sizeof(whole); n++)
                assert_int_equal(frame_peek(whole, n, 256, &payload, &len), 0);
        assert_int_equal(frame_peek(whole, sizeof(whole), 256, &payload, &len), 1);
        assert_ptr_equal(payload, whole + 4);
        assert_int_equal(len, 256);
}

static void an_announced_length_is_refused_before_it_arrives(void **state) {
        static const uint8_t long_one[] = {0, 0, 1, 1}, longest[] = {0xff, 0xff, 0xff, 0xff};

        assert_int_equal(frame_peek(long_one, 4, 256, &payload, &len), -EMSGSIZE);
        assert_int_equal(frame_peek(long_one, 3, 256, &payload, &len), 0);
        assert_int_equal(frame_peek(longest, 4, FRAME_MAX, &payload, &len), -EMSGSIZE);
}

static void what_cannot_be_packed_again_is_no_message(void **state) {
        // An unknown field with the number 0: outside, in a message, and in a repeated one.
        static const uint8_t outside[] = {0x80, 0x00, 0x02}, inside[] = {0x1a, 0x03, 0x80, 0x00, 0x02},
                             deep[] = {0x3a, 0x07, 0x0a, 0x00, 0x0a, 0x03, 0x80, 0x00, 0x02},
                             unknown[] = {0xa0, 0x06, 0x02}; // number 100: of a newer version
        const ProtobufCMessageDescriptor *kind = &argosy__to_voter__descriptor;

        assert_null(frame_unpack(kind, outside, sizeof(outside)));
        assert_null(frame_unpack(kind, inside, sizeof(inside)));
        assert_null(frame_unpack(kind, deep, sizeof(deep)));
        assert_null(frame_unpack(kind, (const uint8_t *) "\xff", 1));
        ProtobufCMessage *m = frame_unpack(kind, unknown, sizeof(unknown));
        assert_non_null(m);
        protobuf_c_message_free_unpacked(m, NULL);
}

// ---- what unpacking takes

// Bytes that were taken for what was asked for, and the most at a time.
typedef struct Asked {
        size_t now, most;
} Asked;

static void *asked_alloc(void *userdata, size_t size) {
        Asked *a = userdata;
        void *p = malloc(size);

        assert_non_null(p);
        a->now += malloc_usable_size(p);
        a->most = MAX_OF(a->most, a->now);
        return p;
}

static void asked_free(void *userdata, void *p) {
        ((Asked *) userdata)->now -= malloc_usable_size(p); // of NULL: none
        free(p);
}

static size_t asked_for(const Buf *b) {
        Asked asked = {};
        ProtobufCAllocator allocator = {asked_alloc, asked_free, &asked};
        ProtobufCMessage *m =
                protobuf_c_message_unpack(&argosy__request__descriptor, &allocator, b->len, b->data);

        assert_non_null(m);
        protobuf_c_message_free_unpacked(m, &allocator);
        assert_int_equal(asked.now, 0);
        return asked.most;
}

// A field that has a length.
static void put(Buf *b, unsigned number, const void *data, size_t n) {
        for (uint64_t key = (uint64_t) number << 3 | 2; key; key >>= 7)
                assert_int_equal(buf_append(b, &(uint8_t){(uint8_t) (key > 0x7f ? key | 0x80 : key)}, 1), 0);
        for (size_t left = n;; left >>= 7) {
                assert_int_equal(buf_append(b, &(uint8_t){(uint8_t) (left > 0x7f ? left | 0x80 : left)}, 1),
                                 0);
                if (left <= 0x7f)
                        break;
        }
        assert_int_equal(buf_append(b, data, n), 0);
}

static size_t cost_of(const Buf *b, size_t most) {
        return frame_cost(&argosy__request__descriptor, b->data, b->len, most);
}

// `n` fields of two bytes in a message that is field `outer` of a Request.
static void assert_cost_is_known(unsigned outer, unsigned number, size_t n) {
        _cleanup_buf_ Buf inside = {}, b = {};

        for (size_t i = 0; i < n; i++)
                put(&inside, number, "", 0);
        put(&b, outer, inside.data, inside.len);
        size_t asked = asked_for(&b);
        size_t cost = cost_of(&b, SIZE_MAX);
        assert_true(asked <= cost);
        assert_true(cost < 4 * asked); // and nobody is refused for nothing
        assert_true(cost_of(&b, asked - 1) == SIZE_MAX);
        assert_true(cost_of(&b, cost) == cost);
}

static unsigned field_of(const ProtobufCMessageDescriptor *kind, const char *name) {
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field_by_name(kind, name);

        assert_non_null(f);
        return f->id;
}

static void what_unpacking_takes_is_known_before(void **state) {
        const ProtobufCMessageDescriptor *q = &argosy__request__descriptor;

        for (size_t n = 1; n < 20000; n = n * 3 + 1) {
                assert_cost_is_known(field_of(q, "list_units"),
                                     field_of(&argosy__request__list_units__descriptor, "patterns"), n);
                assert_cost_is_known(field_of(q, "wait"),
                                     field_of(&argosy__request__wait__descriptor, "items"), n);
                assert_cost_is_known(field_of(q, "wait"), 100000, n); // of a newer version
        }
}

static void what_is_no_message_costs_nothing(void **state) {
        static const uint8_t *const broken[] = {(const uint8_t *) "\xff", (const uint8_t *) "\x0a\x05",
                                                (const uint8_t *) "\x0b"};

        for (size_t i = 0; i < ELEMENTSOF(broken); i++)
                assert_true(frame_cost(&argosy__request__descriptor, broken[i],
                                       strlen((const char *) broken[i]), SIZE_MAX) == SIZE_MAX);
}

RUN_TESTS(
        cmocka_unit_test(a_frame_is_its_length_and_its_message),
        cmocka_unit_test(a_frame_is_not_there_before_its_last_byte),
        cmocka_unit_test(an_announced_length_is_refused_before_it_arrives),
        cmocka_unit_test(what_cannot_be_packed_again_is_no_message),
        cmocka_unit_test(what_unpacking_takes_is_known_before),
        cmocka_unit_test(what_is_no_message_costs_nothing)
)
