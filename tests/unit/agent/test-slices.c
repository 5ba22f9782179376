// SPDX-License-Identifier: LGPL-2.1-or-later
#include "printed.h"
#include "test.h"

#include "slices.h"

static void few_units_need_no_slices(void **state) {
        Slices s = {};
        char slice[LEDGER_SLICE_SIZE];

        for (int i = 0; i < SLICES_FROM; i++) {
                slices_choose(&s, slice);
                assert_string_equal(slice, "");
                slices_add(&s, slice);
        }
        slices_choose(&s, slice);
        assert_string_equal(slice, "argosy-00.slice");
}

static void slices_are_filled_one_after_the_other(void **state) {
        Slices s = {.n_plain = SLICES_FROM};
        char slice[LEDGER_SLICE_SIZE];

        for (int i = 0; i < 12 * SLICES_FILL; i++) {
                slices_choose(&s, slice);
                assert_string_equal(slice, printed("argosy-%02i.slice", i / SLICES_FILL));
                slices_add(&s, slice);
        }
        // What becomes free is used again first.
        slices_remove(&s, "argosy-03.slice");
        slices_choose(&s, slice);
        assert_string_equal(slice, "argosy-03.slice");
}

static void beyond_the_last_slice_the_least_filled_is_used(void **state) {
        Slices s = {.n_plain = SLICES_FROM};
        char slice[LEDGER_SLICE_SIZE];

        for (int i = 0; i < SLICES_MAX; i++)
                s.n_in[i] = SLICES_FILL + 5;
        s.n_in[777]--;
        slices_choose(&s, slice);
        assert_string_equal(slice, "argosy-777.slice");
        slices_add(&s, slice);
        assert_int_equal(s.n_in[777], SLICES_FILL + 5);
}

// Slices that are not ours count like none: the ledger may be older than this numbering.
static void other_slices_are_not_counted_as_ours(void **state) {
        static const char *const others[] = {"",
                                             "system.slice",
                                             "argosy-.slice",
                                             "argosy-x1.slice",
                                             "argosy-1000.slice",
                                             "argosy-00000001.slice"};
        Slices s = {};

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                slices_add(&s, others[i]);
        assert_int_equal(s.n_plain, ELEMENTSOF(others));
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                slices_remove(&s, others[i]);
        assert_int_equal(s.n_plain, 0);
}

RUN_TESTS(
        cmocka_unit_test(few_units_need_no_slices),
        cmocka_unit_test(slices_are_filled_one_after_the_other),
        cmocka_unit_test(beyond_the_last_slice_the_least_filled_is_used),
        cmocka_unit_test(other_slices_are_not_counted_as_ours)
)
