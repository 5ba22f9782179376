// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "str.h"

static void spans_are_read_as_systemd_writes_them(void **state) {
        static const struct {
                const char *text;
                uint64_t us;
        } good[] = {{"5", 5000000},   {"5s", 5000000}, {"500ms", 500000},
                    {"1.5", 1500000}, {"0.6", 600000}, {"2min", 120000000}};
        static const char *const bad[] = {"", "s", "-1", "5x", "1,5", "99999999999"};
        uint64_t us;

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                assert_true(parse_span_us(good[i].text, &us));
                assert_int_equal(us, good[i].us);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_false(parse_span_us(bad[i], &us));
}

static void numbers_have_limits(void **state) {
        uint64_t n;

        assert_true(parse_u64("65535", 65535, &n));
        assert_int_equal(n, 65535);
        assert_false(parse_u64("65536", 65535, &n));
        assert_false(parse_u64("", 10, &n));
        assert_false(parse_u64("-1", UINT64_MAX, &n));
        assert_false(parse_u64("18446744073709551616", UINT64_MAX, &n));
}

static void hex_goes_there_and_back(void **state) {
        uint8_t in[] = {0, 1, 0xab, 0xff}, out[4];
        char hex[9];

        hex_encode(in, 4, hex);
        assert_string_equal(hex, "0001abff");
        assert_true(hex_decode(hex, out, 4));
        assert_memory_equal(in, out, 4);
        assert_false(hex_decode("0001abf", out, 4));
        assert_false(hex_decode("0001abfg", out, 4));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(spans_are_read_as_systemd_writes_them),
                cmocka_unit_test(numbers_have_limits),
                cmocka_unit_test(hex_goes_there_and_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
