// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-login.h"
#include "macro.h"
#include "str.h"

#define TOKEN "argosy_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234"

static int parse(const char *text, Hash *ret) {
        _cleanup_free_ char *body = strdup(text);
        const char *why = NULL;
        int r = http_login_parse(body, strlen(text), ret, &why);

        assert_true(r == 0 || why);
        for (size_t i = 0; i < strlen(text); i++)
                assert_int_equal(body[i], 0); // it is gone
        return r;
}

static void a_token_is_all_there_is(void **state) {
        Hash proof, wanted = hash_of(TOKEN, strlen(TOKEN));

        assert_int_equal(parse("{\"token\": \"" TOKEN "\"}\n", &proof), 0);
        assert_true(hash_equal(&proof, &wanted));
}

static void what_is_no_token_is_refused(void **state) {
        static const char *const bodies[] = {"",
                                             "{}",
                                             "\"" TOKEN "\"",
                                             "{\"token\":null}",
                                             "{\"token\":7}",
                                             "{\"token\":\"argosy_x\"}",
                                             "{\"token\":[\"" TOKEN "\"]}",
                                             "{\"Token\":\"" TOKEN "\"}",
                                             "{\"token\":\"" TOKEN "\",\"right\":\"admin\"}",
                                             "{\"token\":\"" TOKEN "\",\"token\":\"" TOKEN "\"}",
                                             "{\"token\":\"" TOKEN "\"}x"};
        Hash proof;

        for (size_t i = 0; i < ELEMENTSOF(bodies); i++)
                assert_int_equal(parse(bodies[i], &proof), -EINVAL);
}

static void a_cookie_is_for_nobody_else(void **state) {
        char cookie[HTTP_LOGIN_COOKIE_SIZE];

        http_login_cookie("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234", cookie);
        assert_string_equal(
                cookie,
                "__Host-argosy=abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234; Path=/; Max-Age=43200; Secure; "
                "HttpOnly; SameSite=Strict");
        http_login_cookie(NULL, cookie);
        assert_string_equal(cookie, "__Host-argosy=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict");
}

RUN_TESTS(
        cmocka_unit_test(a_token_is_all_there_is),
        cmocka_unit_test(what_is_no_token_is_refused),
        cmocka_unit_test(a_cookie_is_for_nobody_else)
)
