// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a registry is shown of a secret: one file for one registry, and nothing of what is no USER:PASSWORD.
#include <errno.h>
#include <string.h>

#include "test.h"

#include "registry-auth.h"

static int compose(const char *image, const char *text, SecretBytes *ret) {
        SecretBytes value = {.data = (uint8_t *) text, .len = strlen(text)};

        return registry_auth_compose(image, &value, ret);
}

static void assert_file(const char *image, const char *text, const char *expected) {
        _cleanup_(secret_bytes_done) SecretBytes file = {};

        assert_int_equal(compose(image, text, &file), 0);
        assert_int_equal(file.len, strlen(expected));
        assert_memory_equal(file.data, expected, file.len);
}

static void a_user_is_shown_to_the_registry_of_the_image(void **state) {
        assert_file("reg.example:5000/team/box:1", "me:pass",
                    "{\"auths\":{\"reg.example:5000\":{\"auth\":\"bWU6cGFzcw==\"}}}\n");
        assert_file("docker.io/library/web@sha256:0", "me:passw",
                    "{\"auths\":{\"docker.io\":{\"auth\":\"bWU6cGFzc3c=\"}}}\n");
        assert_file("a/b", "me:passwd", "{\"auths\":{\"a\":{\"auth\":\"bWU6cGFzc3dk\"}}}\n");
}

static void a_line_end_is_no_part_of_the_password(void **state) {
        assert_file("a/b", "me:pass\n", "{\"auths\":{\"a\":{\"auth\":\"bWU6cGFzcw==\"}}}\n");
        assert_file("a/b", "me:pass\r\n", "{\"auths\":{\"a\":{\"auth\":\"bWU6cGFzcw==\"}}}\n");
}

static void a_password_may_have_colons_and_quotes(void **state) {
        assert_file("a/b", "u:a:\"\xc3\xbf", "{\"auths\":{\"a\":{\"auth\":\"dTphOiLDvw==\"}}}\n");
}

static void what_is_no_user_and_password_is_refused(void **state) {
        static const char *const bad[] = {"me",      ":pass",   "me:", "me:a\nb",
                                          "me:a\tb", "\n", "{\"auths\":{}}\n{"};

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(compose("a/b", bad[i], &(SecretBytes){}), -EINVAL);
        assert_int_equal(compose("box", "me:pass", &(SecretBytes){}), -EINVAL);
        assert_int_equal(compose("a\"b/c", "me:pass", &(SecretBytes){}), -EINVAL);
        assert_int_equal(compose("/c", "me:pass", &(SecretBytes){}), -EINVAL);
}

RUN_TESTS(
        cmocka_unit_test(a_user_is_shown_to_the_registry_of_the_image),
        cmocka_unit_test(a_line_end_is_no_part_of_the_password),
        cmocka_unit_test(a_password_may_have_colons_and_quotes),
        cmocka_unit_test(what_is_no_user_and_password_is_refused)
)
