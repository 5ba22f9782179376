// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "hash.h"

static void grows_and_shrinks_from_the_front(void **state) {
        _cleanup_buf_ Buf b = {};

        for (int i = 0; i < 1000; i++)
                assert_int_equal(buf_printf(&b, "%03d", i), 0);
        assert_int_equal(b.len, 3000);
        buf_consume(&b, 2997);
        assert_memory_equal(b.data, "999", 3);
        buf_consume(&b, 3);
        assert_int_equal(b.len, 0);
}

static void gives_its_bytes_away_as_a_string(void **state) {
        Buf b = {};

        assert_int_equal(buf_append(&b, "web", 3), 0);
        _cleanup_free_ char *s = buf_take_string(&b);
        assert_string_equal(s, "web");
        assert_null(b.data);
}

static void assert_wrapped(const char *text, size_t column, size_t indent, size_t width,
                           const char *expected) {
        _cleanup_buf_ Buf b = {};
        _cleanup_free_ char *got = NULL;

        assert_int_equal(buf_append_wrapped(&b, text, column, indent, width), 0);
        got = buf_take_string(&b);
        assert_string_equal(got, expected);
}

static void breaks_lines_between_words(void **state) {
        assert_wrapped("one two three", 0, 2, 9, "one two\n  three");
        assert_wrapped("one two three", 0, 2, 6, "one\n  two\n  three");
        assert_wrapped("one two three", 0, 2, 13, "one two three");
        assert_wrapped("one two three", 4, 4, 11, "one two\n    three");
        assert_wrapped("one two three", 0, 0, 0, "one two three");
        assert_wrapped("far-too-long for it", 0, 1, 5, "far-too-long\n for\n it");
        assert_wrapped("\xc3\xa9t\xc3\xa9 \xc3\xa9t\xc3\xa9", 0, 0, 7,
                       "\xc3\xa9t\xc3\xa9 \xc3\xa9t\xc3\xa9"); // 7 characters
        assert_wrapped("", 0, 0, 7, "");
}

// RFC 3720 B.4: CRC-32C of 32 zero bytes.
static void crc_is_castagnolis(void **state) {
        uint8_t zero[32] = {};

        assert_int_equal(crc32c(0, zero, 32), 0x8a9136aa);
}

// As its definition has it, one bit after the other.
static uint32_t crc_by_bits(uint32_t crc, const uint8_t *p, size_t len) {
        crc = ~crc;
        for (size_t i = 0; i < 8 * len; i++) {
                crc ^= (p[i / 8] >> i % 8) & 1;
                crc = crc & 1 ? crc >> 1 ^ UINT32_C(0x82f63b78) : crc >> 1;
        }
        return ~crc;
}

static void crc_is_the_same_wherever_bytes_lie_and_are_parted(void **state) {
        uint8_t bytes[64];

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = (uint8_t) (i * 151 + 7);
        for (size_t from = 0; from < 9; from++)
                for (size_t len = 0; from + len <= sizeof(bytes); len++) {
                        uint32_t crc = crc_by_bits(0, bytes + from, len);

                        assert_int_equal(crc32c(0, bytes + from, len), crc);
                        assert_int_equal(crc32c(crc32c(0, bytes + from, len / 3), bytes + from + len / 3,
                                                len - len / 3),
                                         crc);
                }
}

RUN_TESTS(
        cmocka_unit_test(grows_and_shrinks_from_the_front),
        cmocka_unit_test(gives_its_bytes_away_as_a_string),
        cmocka_unit_test(breaks_lines_between_words),
        cmocka_unit_test(crc_is_castagnolis),
        cmocka_unit_test(crc_is_the_same_wherever_bytes_lie_and_are_parted)
)
