// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <stdio.h>

#include "words.h"

static void a_word_is_kept_once(void **state) {
        char running[] = "running";
        Words w = {};
        const char *first = words_get(&w, running);

        assert_ptr_not_equal(first, running);
        assert_ptr_equal(first, words_get(&w, "running"));
        assert_ptr_not_equal(first, words_get(&w, "exited"));
        assert_string_equal(words_get(&w, ""), "");
        words_done(&w);
}

static void long_words_are_cut_and_stay_equal(void **state) {
        Words w = {};
        const char *cut = words_get(&w, "a-sub-state-of-more-than-twenty-four-bytes");

        assert_int_equal(strlen(cut), WORDS_SIZE - 1);
        assert_ptr_equal(cut, words_get(&w, "a-sub-state-of-more-than-twenty-four-bytes"));
        words_done(&w);
}

static void there_is_an_end_of_words(void **state) {
        Words w = {};
        char word[16];

        for (int i = 0; i < WORDS_MAX; i++) {
                snprintf(word, sizeof(word), "%i", i);
                assert_string_equal(words_get(&w, word), word);
        }
        assert_string_equal(words_get(&w, "one more"), "(other)");
        assert_string_equal(words_get(&w, "17"), "17");
        words_done(&w);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_word_is_kept_once),
                cmocka_unit_test(long_words_are_cut_and_stay_equal),
                cmocka_unit_test(there_is_an_end_of_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
