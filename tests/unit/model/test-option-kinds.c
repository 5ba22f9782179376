// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of options with words: whoever adds a kind adds its row.
#include "test.h"

#include "str.h"
#include "unit-options-private.h"

static void every_kind_of_option_has_a_row_with_a_name_of_its_own(void **state) {
        for (unsigned i = 0; i < RAW_KINDS; i++) {
                const char *name = option_kind((RawKind) i)->name;

                if (!name)
                        fail_msg("kind %u has no row", i);
                for (unsigned k = 0; k < i; k++)
                        if (streq(name, option_kind((RawKind) k)->name))
                                fail_msg("kinds %u and %u are both called %s", k, i, name);
        }
}

static void what_is_between_units_and_only_that_is_a_dependency(void **state) {
        for (unsigned i = 0; i < RAW_KINDS; i++)
                assert_int_equal(option_kind((RawKind) i)->dependency != 0,
                                 i >= RAW_AFTER && i <= RAW_PART_OF);
}

RUN_TESTS(
        cmocka_unit_test(every_kind_of_option_has_a_row_with_a_name_of_its_own),
        cmocka_unit_test(what_is_between_units_and_only_that_is_a_dependency)
)
