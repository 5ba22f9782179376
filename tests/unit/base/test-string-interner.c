// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <stdio.h>

#include "string-interner.h"

static void a_word_is_kept_once(void **state) {
        char running[] = "running";
        _cleanup_(string_interner_done) StringInterner w = {};
        const char *first = string_interner_get(&w, running);

        assert_ptr_not_equal(first, running);
        assert_ptr_equal(first, string_interner_get(&w, "running"));
        assert_ptr_not_equal(first, string_interner_get(&w, "exited"));
        assert_string_equal(string_interner_get(&w, ""), "");
}

static void long_words_are_cut_and_stay_equal(void **state) {
        _cleanup_(string_interner_done) StringInterner w = {};
        const char *cut = string_interner_get(&w, "a-sub-state-of-more-than-twenty-four-bytes");

        assert_int_equal(strlen(cut), STRING_INTERNER_SIZE - 1);
        assert_ptr_equal(cut, string_interner_get(&w, "a-sub-state-of-more-than-twenty-four-bytes"));
}

static void there_is_an_end_of_words(void **state) {
        _cleanup_(string_interner_done) StringInterner w = {};
        char word[16];

        for (int i = 0; i < STRING_INTERNER_MAX; i++) {
                snprintf(word, sizeof(word), "%i", i);
                assert_string_equal(string_interner_get(&w, word), word);
        }
        assert_string_equal(string_interner_get(&w, "one more"), "(other)");
        assert_string_equal(string_interner_get(&w, "17"), "17");
}

RUN_TESTS(
        cmocka_unit_test(a_word_is_kept_once),
        cmocka_unit_test(long_words_are_cut_and_stay_equal),
        cmocka_unit_test(there_is_an_end_of_words)
)
