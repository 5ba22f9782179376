// SPDX-License-Identifier: LGPL-2.1-or-later
#include "refusal-words.h"

#include "macro.h"
#include "str.h"
#include "test.h"

static void assert_said(const char *const (*list)[2], size_t n, const char *words) {
        Argosy__Refusal refusals[16], *pointers[16];
        _cleanup_free_ char *said = NULL;

        assert_in_range(n, 0, ELEMENTSOF(refusals));
        for (size_t i = 0; i < n; i++) {
                pointers[i] = &refusals[i];
                argosy__refusal__init(pointers[i]);
                refusals[i].node = (char *) list[i][0];
                refusals[i].reason = (char *) list[i][1];
        }
        said = refusal_words(pointers, n);
        assert_string_equal(said, words);
}

static void nodes_with_the_same_reason_stand_together(void **state) {
        static const char *const list[][2] = {{"n1", "lost"}, {"n2", "late"}, {"n3", "lost"}};

        assert_said(list, 3, "n1, n3: lost; n2: late");
        assert_said(list, 1, "n1: lost");
        assert_said(list, 0, "");
}

static void of_many_the_first_are_said(void **state) {
        static const char *const list[][2] = {{"n1", "a"}, {"n2", "a"}, {"n3", "a"},
                                              {"n4", "a"}, {"n5", "a"}, {"n6", "b"},
                                              {"n7", "c"}, {"n8", "d"}, {"n9", "e"}};

        assert_said(list, 5, "n1, n2, n3 and 2 more: a");
        assert_said(list, 9, "n1, n2, n3 and 2 more: a; n6: b; n7: c; and more");
}

RUN_TESTS(cmocka_unit_test(nodes_with_the_same_reason_stand_together),
          cmocka_unit_test(of_many_the_first_are_said))
