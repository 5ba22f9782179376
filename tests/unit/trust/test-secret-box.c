// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A sealed value is opened by its key and label alone.
#include "test.h"

#include "secret-box.h"

static const uint8_t key[SECRET_KEY_SIZE] = {1, 2, 3}, other_key[SECRET_KEY_SIZE] = {1, 2, 4};
static const SecretLabel label = {.name = "db-password", .version = 7, .key = 2};

static void seal(Buf *ret) {
        assert_int_equal(secret_box_seal(key, &label, "hunter2", 7, ret), 0);
}

static void what_was_sealed_comes_out_again(void **state) {
        _cleanup_(secret_bytes_done) SecretBytes value = {};
        _cleanup_buf_ Buf sealed = {};

        seal(&sealed);
        assert_int_equal(sealed.len, 7 + SECRET_BOX_EXTRA);
        assert_null(memmem(sealed.data, sealed.len, "hunter2", 7));
        assert_int_equal(secret_box_open(key, &label, sealed.data, sealed.len, &value), 0);
        assert_int_equal(value.len, 7);
        assert_memory_equal(value.data, "hunter2", 7);
}

static void the_same_is_never_sealed_twice_alike(void **state) {
        _cleanup_buf_ Buf a = {}, b = {};

        seal(&a);
        seal(&b);
        assert_memory_not_equal(a.data, b.data, a.len);
        assert_memory_not_equal(a.data, b.data, 12); // the nonces
}

static void assert_closed(const uint8_t *with, SecretLabel as, const Buf *sealed, size_t len) {
        SecretBytes value = {};

        assert_int_equal(secret_box_open(with, &as, sealed->data, len, &value), -EBADMSG);
        assert_null(value.data);
}

static void nothing_else_opens_it(void **state) {
        _cleanup_buf_ Buf sealed = {};
        SecretLabel as = label;

        seal(&sealed);
        assert_closed(other_key, label, &sealed, sealed.len);
        as.name = "db-passwor";
        assert_closed(key, as, &sealed, sealed.len);
        as = label;
        as.version++;
        assert_closed(key, as, &sealed, sealed.len);
        as = label;
        as.key++;
        assert_closed(key, as, &sealed, sealed.len);
        for (size_t len = 0; len < sealed.len; len++)
                assert_closed(key, label, &sealed, len);
        for (size_t i = 0; i < sealed.len; i++) {
                sealed.data[i] ^= 1;
                assert_closed(key, label, &sealed, sealed.len);
                sealed.data[i] ^= 1;
        }
}

RUN_TESTS(
        cmocka_unit_test(what_was_sealed_comes_out_again),
        cmocka_unit_test(the_same_is_never_sealed_twice_alike),
        cmocka_unit_test(nothing_else_opens_it)
)
