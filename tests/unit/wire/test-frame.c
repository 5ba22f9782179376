// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "argosy.pb-c.h"
#include "frame.h"

static const uint8_t *payload;
static size_t len;

static void a_frame_is_its_length_and_its_message(void **state) {
        Argosy__ToVoter__Beat beat = ARGOSY__TO_VOTER__BEAT__INIT;
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT, *back;
        _cleanup_buf_ Buf out = {};

        beat.seq = 5;
        message.msg_case = ARGOSY__TO_VOTER__MSG_BEAT;
        message.beat = &beat;
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
        ProtobufCMessage *m;

        assert_null(frame_unpack(kind, outside, sizeof(outside)));
        assert_null(frame_unpack(kind, inside, sizeof(inside)));
        assert_null(frame_unpack(kind, deep, sizeof(deep)));
        assert_null(frame_unpack(kind, (const uint8_t *) "\xff", 1));
        m = frame_unpack(kind, unknown, sizeof(unknown));
        assert_non_null(m);
        protobuf_c_message_free_unpacked(m, NULL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_frame_is_its_length_and_its_message),
                cmocka_unit_test(a_frame_is_not_there_before_its_last_byte),
                cmocka_unit_test(an_announced_length_is_refused_before_it_arrives),
                cmocka_unit_test(what_cannot_be_packed_again_is_no_message),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
