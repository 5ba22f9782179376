// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a registry said is its reason alone, and who reads it is told what can be done about it.
#include <string.h>

#include "test.h"

#include "macro.h"
#include "registry-words.h"

static void only_the_reason_of_the_last_line_is_left(void **state) {
        static const char *const cases[][2] = {
                {"Trying to pull a.b/c:1...\nError: reading manifest 1 in a.b/c: manifest unknown\n",
                 "reading manifest 1 in a.b/c: manifest unknown"},
                {"time=\"2026\" level=fatal "
                 "msg=\"Error parsing image name \\\"docker://x\\\": unauthorized\"\n",
                 "parsing image name \"docker://x\": unauthorized"},
                {"\n", "it did not say why"},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *words = registry_words(cases[i][0], strlen(cases[i][0]));

                assert_string_equal(words, cases[i][1]);
        }
}

// Another tag helps nobody whom the registry does not know.
static void who_is_denied_is_told_what_to_do(void **state) {
        static const struct {
                const char *words;
                RegistryDenial denial;
                const char *hint[2][2]; // shown, pinned
        } cases[] = {
                {"dial tcp: connection refused", REGISTRY_DENIES_NOTHING, {{"", ""}, {"", ""}}},
                {"reading manifest 1 in a.b/c: manifest unknown",
                 REGISTRY_LACKS_IMAGE,
                 {{"", "; if Image= names a tag, `argosyctl update --pull` resolves it anew"},
                  {"", "; if Image= names a tag, `argosyctl update --pull` resolves it anew"}}},
                {"no image found in image index for architecture \"arm64\"",
                 REGISTRY_LACKS_IMAGE,
                 {{"", "; if Image= names a tag, `argosyctl update --pull` resolves it anew"},
                  {"", "; if Image= names a tag, `argosyctl update --pull` resolves it anew"}}},
                {"fetching blob: unauthorized",
                 REGISTRY_WANTS_AUTH,
                 {{"; if it is private, RegistryAuth= names the secret to show",
                   "; if it is private, RegistryAuth= names the secret to show"},
                  {"; it was shown the secret that RegistryAuth= names",
                   "; it was shown the secret that RegistryAuth= names"}}},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                RegistryDenial d = registry_words_denial(cases[i].words);

                assert_int_equal(d, cases[i].denial);
                for (int k = 0; k < 4; k++)
                        assert_string_equal(registry_denial_hint(d, k / 2, k % 2),
                                            cases[i].hint[k / 2][k % 2]);
        }
}

RUN_TESTS(
        cmocka_unit_test(only_the_reason_of_the_last_line_is_left),
        cmocka_unit_test(who_is_denied_is_told_what_to_do)
)
