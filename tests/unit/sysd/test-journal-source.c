// SPDX-License-Identifier: LGPL-2.1-or-later
#include "journal-source.h"

#include <stdlib.h>
#include <time.h>

#include "test.h"

static void free_lines(char **lines, int n) {
        for (int i = 0; i < n; i++)
                free(lines[i]);
}

static void one_line_looks_like_journalctl_s(void **state) {
        char *lines[4];
        int n = journal_format(UINT64_C(1700000000123456), "one", "nginx", "42", "ready\n", 6, lines, 4);

        assert_int_equal(n, 1);
        assert_string_equal(lines[0], "Nov 14 22:13:20 one nginx[42]: ready");
        free_lines(lines, n);
        n = journal_format(0, "one", "kernel", NULL, "", 0, lines, 4);
        assert_int_equal(n, 1);
        assert_string_equal(lines[0], "Jan 01 00:00:00 one kernel: ");
        free_lines(lines, n);
}

static void further_lines_are_indented_and_limited(void **state) {
        char *lines[4];
        int n = journal_format(0, "one", "a", NULL, "1\n2\n3\n4\n5", 9, lines, 3);

        assert_int_equal(n, 3);
        assert_string_equal(lines[0], "Jan 01 00:00:00 one a: 1");
        assert_string_equal(lines[2], "    3");
        free_lines(lines, n);
}

// A terminal shows what a unit wrote: nothing in it may move the cursor.
static void bytes_that_are_not_text_do_not_reach_the_terminal(void **state) {
        char *lines[2];
        int n = journal_format(0, "one", "a", NULL, "x\033[2Jy", 6, lines, 2);

        assert_int_equal(n, 1);
        assert_string_equal(lines[0], "Jan 01 00:00:00 one a: [6B blob data]");
        free_lines(lines, n);
}

static void long_messages_are_cut(void **state) {
        size_t len = JOURNAL_LINE_MAX * 2;
        char *text = malloc(len), *lines[2];

        memset(text, 'x', len);
        int n = journal_format(0, "one", "a", NULL, text, len, lines, 2);
        assert_int_equal(n, 1);
        assert_int_equal(strlen(lines[0]), strlen("Jan 01 00:00:00 one a: ") + JOURNAL_LINE_MAX);
        free_lines(lines, n);
        free(text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_line_looks_like_journalctl_s),
                cmocka_unit_test(further_lines_are_indented_and_limited),
                cmocka_unit_test(bytes_that_are_not_text_do_not_reach_the_terminal),
                cmocka_unit_test(long_messages_are_cut),
        };

        setenv("TZ", "UTC", 1);
        tzset();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
