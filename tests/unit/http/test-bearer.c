// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-bearer.h"
#include "macro.h"

#define SECRET "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234"
#define TOKEN ACCESS_TOKEN_PREFIX SECRET

static_assert(sizeof(SECRET) == HTTP_SECRET_SIZE, "as long as one");

static void the_proof_is_the_hash_of_the_text(void **state) {
        Hash proof, wanted = hash_of(TOKEN, strlen(TOKEN));

        assert_true(http_bearer_proof("Bearer " TOKEN, &proof));
        assert_true(hash_equal(&proof, &wanted));
        assert_true(http_bearer_proof("bearer   " TOKEN, &proof));
        assert_true(access_token_proof(TOKEN, &proof));
}

static void what_is_no_token_has_none(void **state) {
        static const char *const texts[] = {"",
                                            "Bearer",
                                            "Bearer ",
                                            "Bearer" TOKEN,
                                            "Basic " TOKEN,
                                            TOKEN,
                                            "Bearer " SECRET,
                                            "Bearer " TOKEN "x",
                                            "Bearer " TOKEN " ",
                                            "Bearer " TOKEN "," TOKEN,
                                            "Bearer argosy_abc",
                                            "Bearer ARGOSY_" SECRET,
                                            "Bearer argosy_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_0123=",
                                            "Bearer argosy_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ+/01234",
                                            "Bearer\t" TOKEN,
                                            "Bearer argosy1." SECRET,
                                            "Bearer argosy_\xc3\xa4"
                                            "cdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234"};
        Hash proof;

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_false(http_bearer_proof(texts[i], &proof));
}

static void a_session_is_found_among_cookies(void **state) {
        char id[HTTP_SECRET_SIZE];

        assert_true(http_cookie_find(HTTP_COOKIE "=" SECRET, id));
        assert_string_equal(id, SECRET);
        assert_true(http_cookie_find("a=b; " HTTP_COOKIE "=" SECRET ";c=d", id));
        assert_true(http_cookie_find("a=" HTTP_COOKIE "=x;" HTTP_COOKIE "=" SECRET, id));
}

static void a_session_that_is_not_one_is_none(void **state) {
        static const char *const texts[] = {"",
                                            "a=b",
                                            HTTP_COOKIE,
                                            HTTP_COOKIE "=",
                                            HTTP_COOKIE "=" SECRET "x",
                                            HTTP_COOKIE "=\"" SECRET "\"",
                                            HTTP_COOKIE "=" SECRET " ",
                                            HTTP_COOKIE "=" SECRET "; " HTTP_COOKIE "=" SECRET,
                                            HTTP_COOKIE "=x; " HTTP_COOKIE "=" SECRET,
                                            HTTP_COOKIE "=" SECRET "; " HTTP_COOKIE "=x",
                                            "x" HTTP_COOKIE "=" SECRET,
                                            "__host-argosy=" SECRET,
                                            ";;; ;"};
        char id[HTTP_SECRET_SIZE];

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_false(http_cookie_find(texts[i], id));
}

static void a_token_in_a_url_is_seen(void **state) {
        assert_true(http_target_has_token("/v1/units?access_token=x"));
        assert_true(http_target_has_token("/v1/units?a=b&Access_Token=x"));
        assert_true(http_target_has_token("/v1/units?access_token"));
        assert_true(http_target_has_token("/v1/units?access_token&a"));
        assert_false(http_target_has_token("/v1/units"));
        assert_false(http_target_has_token("/v1/access_token=x"));
        assert_false(http_target_has_token("/v1/units?access_tokens=x&pattern=access_token"));
}

RUN_TESTS(
        cmocka_unit_test(the_proof_is_the_hash_of_the_text),
        cmocka_unit_test(what_is_no_token_has_none),
        cmocka_unit_test(a_session_is_found_among_cookies),
        cmocka_unit_test(a_session_that_is_not_one_is_none),
        cmocka_unit_test(a_token_in_a_url_is_seen)
)
