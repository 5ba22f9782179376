// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "join-token.h"
#include "str.h"

#define HASH64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GOOD "argosy1." HASH64 ".00c0ffee.00112233445566778899aabbccddeeff"

static void a_new_token_survives_the_way_to_another_host(void **state) {
        _cleanup_free_ char *text = NULL, *padded = NULL;
        JoinToken t, parsed;
        const char *why;
        Hash ca = hash_of("ca", 2);

        join_token_new("ca", 2, &t);
        assert_non_null(text = join_token_format(&t));
        assert_non_null(padded = str_printf(" %s\n", text));
        assert_int_equal(join_token_parse(padded, &parsed, &why), 0);
        assert_memory_equal(&parsed.ca_hash, &ca, sizeof(ca));
        assert_string_equal(parsed.id, t.id);
        assert_memory_equal(parsed.secret, t.secret, sizeof(t.secret));
}

static void two_tokens_differ(void **state) {
        JoinToken a, b;

        join_token_new("ca", 2, &a);
        join_token_new("ca", 2, &b);
        assert_memory_not_equal(a.secret, b.secret, sizeof(a.secret));
        assert_string_not_equal(a.id, b.id);
}

static void bad_tokens_are_refused_with_the_reason(void **state) {
        static const struct {
                const char *text, *why;
        } cases[] = {
                {"", "not a join token: they begin with argosy1."},
                {"argosy2." HASH64, "not a join token: they begin with argosy1."},
                {"argosy1.", "the join token is cut short"},
                {"argosy1." HASH64 ".00c0ffee.00112233445566778899aabbccddeef",
                 "the join token is cut short"},
                {GOOD "0", "the join token is too long"},
                {"argosy1." HASH64 ".00c0ffee.00112233445566778899aabbccddeefg",
                 "the join token is mistyped"},
                {"argosy1." HASH64 "x00c0ffee.00112233445566778899aabbccddeeff",
                 "the join token is mistyped"},
                {"argosy1." HASH64 ".00c0ffe..00112233445566778899aabbccddeeff",
                 "the join token is mistyped"},
        };
        JoinToken t;
        const char *why;

        assert_int_equal(join_token_parse(GOOD, &t, &why), 0);
        assert_string_equal(t.id, "00c0ffee");
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                assert_int_equal(join_token_parse(cases[i].text, &t, &why), -EINVAL);
                assert_string_equal(why, cases[i].why);
        }
}

RUN_TESTS(
        cmocka_unit_test(a_new_token_survives_the_way_to_another_host),
        cmocka_unit_test(two_tokens_differ),
        cmocka_unit_test(bad_tokens_are_refused_with_the_reason)
)
