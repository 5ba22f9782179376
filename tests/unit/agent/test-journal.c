// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loop.h"

#include <time.h>

#include "journal.h"
#include "macro.h"

static void free_lines(char **lines, int n) {
        for (int i = 0; i < n; i++)
                free(lines[i]);
}

static void one_line_looks_like_journalctl_s(void **state) {
        char *lines[4];
        int n;

        n = journal_format(UINT64_C(1700000000123456), "one", "nginx", "42", "ready\n", 6, lines, 4);
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
        int n;

        n = journal_format(0, "one", "a", NULL, "1\n2\n3\n4\n5", 9, lines, 3);
        assert_int_equal(n, 3);
        assert_string_equal(lines[0], "Jan 01 00:00:00 one a: 1");
        assert_string_equal(lines[2], "    3");
        free_lines(lines, n);
}

// A terminal shows what a unit wrote: nothing in it may move the cursor.
static void bytes_that_are_not_text_do_not_reach_the_terminal(void **state) {
        char *lines[2];
        int n;

        n = journal_format(0, "one", "a", NULL, "x\033[2Jy", 6, lines, 2);
        assert_int_equal(n, 1);
        assert_string_equal(lines[0], "Jan 01 00:00:00 one a: [6B blob data]");
        free_lines(lines, n);
}

static void long_messages_are_cut(void **state) {
        size_t len = JOURNAL_LINE_MAX * 2;
        char *text = malloc(len), *lines[2];
        int n;

        memset(text, 'x', len);
        n = journal_format(0, "one", "a", NULL, text, len, lines, 2);
        assert_int_equal(n, 1);
        assert_int_equal(strlen(lines[0]), strlen("Jan 01 00:00:00 one a: ") + JOURNAL_LINE_MAX);
        free_lines(lines, n);
        free(text);
}

static bool reader_ended, reader_closed;

static void on_lines(char **lines, size_t n, void *userdata) {
        fail_msg("a unit that never was has written: %s", lines[0]);
}

static void on_ended(int error, void *userdata) {
        assert_int_equal(error, 0);
        reader_ended = true;
}

static void on_closed(void *userdata) {
        reader_closed = true;
}

static const JournalOps ops = {.lines = on_lines, .ended = on_ended};

static JournalReader *read_nobodys(unsigned n_lines, bool follow) {
        const JournalQuestion q = {
                .manager = JOURNAL_SYSTEM, .unit = "argosy-test-nobody.service", .n_lines = n_lines, .follow = follow};
        JournalReader *r;

        assert_int_equal(journal_reader_new(&test_loop, &q, &ops, NULL, &r), 0);
        return r;
}

static void the_journal_of_nobody_is_empty(void **state) {
        JournalReader *r = read_nobodys(10, false);

        loop_until(reader_ended);
        journal_reader_close(r, on_closed, NULL);
        loop_until(reader_closed);
        reader_ended = reader_closed = false;
}

static void following_ends_only_when_it_is_closed(void **state) {
        JournalReader *r = read_nobodys(0, true);

        for (int i = 0; i < 3; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_false(reader_ended);
        journal_reader_close(r, on_closed, NULL); // perhaps in the middle of a read
        loop_until(reader_closed);
        assert_false(reader_ended);
        reader_closed = false;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_line_looks_like_journalctl_s),
                cmocka_unit_test(further_lines_are_indented_and_limited),
                cmocka_unit_test(bytes_that_are_not_text_do_not_reach_the_terminal),
                cmocka_unit_test(long_messages_are_cut),
                cmocka_unit_test_setup_teardown(the_journal_of_nobody_is_empty, loop_setup, loop_teardown),
                cmocka_unit_test_setup_teardown(following_ends_only_when_it_is_closed, loop_setup,
                                                loop_teardown),
        };

        setenv("TZ", "UTC", 1);
        tzset();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
