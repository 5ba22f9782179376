// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "table.h"

static void add(Table *t, const char *a, const char *b, const char *c) {
        assert_int_equal(table_add(t, a, COLOUR_NONE), 0);
        assert_int_equal(table_add(t, b, COLOUR_NONE), 0);
        assert_int_equal(table_add(t, c, COLOUR_NONE), 0);
}

static void start(Table *t) {
        table_add_column(t, "UNIT", true, false);
        table_add_column(t, "SUB", false, false);
        table_add_column(t, "NOTE", false, true);
}

static void expect(const Table *t, TextStyle style, bool header, const char *text) {
        _cleanup_buf_ Buf b = {};
        _cleanup_free_ char *got = NULL;

        assert_int_equal(table_format(t, &style, header, &b), 0);
        got = buf_take_string(&b);
        assert_string_equal(got, text);
}

static void columns_are_as_wide_as_their_widest_cell(void **state) {
        _cleanup_table_ Table t = {};

        start(&t);
        add(&t, "a.service", "running", "drift");
        add(&t, "bb.service", "", "");
        assert_int_equal(table_rows(&t), 2);
        expect(&t, (TextStyle){}, true,
               "UNIT       SUB     NOTE\n"
               "a.service  running drift\n"
               "bb.service -\n");
        expect(&t, (TextStyle){}, false, "a.service  running drift\nbb.service -\n");
}

static void an_optional_column_without_cells_is_not_there(void **state) {
        _cleanup_table_ Table t = {};

        start(&t);
        add(&t, "a", "dead", "");
        expect(&t, (TextStyle){}, true, "UNIT SUB\na    dead\n");
}

static void a_narrow_terminal_shortens_names_only(void **state) {
        _cleanup_table_ Table t = {};

        start(&t);
        add(&t, "a-very-long-name-indeed.service", "running", "");
        expect(&t, (TextStyle){.width = 24, .utf8 = false}, false, "a-very-...ervice running\n");
        // never below what can still be told apart
        expect(&t, (TextStyle){.width = 5, .utf8 = false}, false, "a-ver...vice running\n");
        expect(&t, (TextStyle){.width = 0}, false, "a-very-long-name-indeed.service running\n");
}

static void an_empty_table_is_its_header(void **state) {
        _cleanup_table_ Table t = {};

        start(&t);
        expect(&t, (TextStyle){}, true, "UNIT SUB\n");
        expect(&t, (TextStyle){}, false, "");
}

static void cells_are_cleaned_and_coloured(void **state) {
        _cleanup_table_ Table t = {};

        table_add_column(&t, "A", false, false);
        table_add_column(&t, "B", false, false);
        assert_int_equal(table_add(&t, "x\x1b[1m", COLOUR_RED), 0);
        assert_int_equal(table_add(&t, "y", COLOUR_NONE), 0);
        expect(&t, (TextStyle){.colour = true}, false, "\x1b[1;31mx?[1m\x1b[0m y\n");
}

RUN_TESTS(
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(an_optional_column_without_cells_is_not_there),
        cmocka_unit_test(a_narrow_terminal_shortens_names_only),
        cmocka_unit_test(an_empty_table_is_its_header),
        cmocka_unit_test(cells_are_cleaned_and_coloured)
)
