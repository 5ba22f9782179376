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
        char *s;

        assert_int_equal(buf_append(&b, "web", 3), 0);
        s = buf_take_string(&b);
        assert_string_equal(s, "web");
        assert_null(b.data);
        free(s);
}

// RFC 3720 B.4: CRC-32C of 32 zero bytes.
static void crc_is_castagnolis(void **state) {
        uint8_t zero[32] = {};

        assert_int_equal(crc32c(0, zero, 32), 0x8a9136aa);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(grows_and_shrinks_from_the_front),
                cmocka_unit_test(gives_its_bytes_away_as_a_string),
                cmocka_unit_test(crc_is_castagnolis),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
