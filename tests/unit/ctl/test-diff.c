// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Differences as diff -u prints them: examples, and at random that applying one to the first text gives the
// second, with as few lines as can be.
#include "test.h"

#include "diff.h"
#include "random-numbers.h"

static const TextStyle plain = {};

static char *diff(const char *a, const char *b, int expected) {
        DiffSide x = {"old", a, strlen(a)}, y = {"new", b, strlen(b)};
        Buf out = {};

        assert_int_equal(diff_append(&x, &y, &plain, false, &out), expected);
        return buf_take_string(&out);
}

static void assert_diff(const char *a, const char *b, const char *expected) {
        _cleanup_free_ char *text = diff(a, b, *expected ? DIFF_DIFFERS : DIFF_SAME);

        assert_string_equal(text, expected);
}

static void a_line_is_changed(void **state) {
        assert_diff("[Service]\nExecStart=/bin/a\nType=simple\n",
                    "[Service]\nExecStart=/bin/b\nType=simple\n",
                    "--- old\n+++ new\n@@ -1,3 +1,3 @@\n [Service]\n-ExecStart=/bin/a\n+ExecStart=/bin/b\n "
                    "Type=simple\n");
}

static void the_same_is_nothing(void **state) {
        assert_diff("a\n", "a\n", "");
        assert_diff("", "", "");
}

static void lines_come_and_go(void **state) {
        assert_diff("", "a\n", "--- old\n+++ new\n@@ -0,0 +1 @@\n+a\n");
        assert_diff("a\nb\n", "", "--- old\n+++ new\n@@ -1,2 +0,0 @@\n-a\n-b\n");
        assert_diff("a\n", "a\nb\n", "--- old\n+++ new\n@@ -1 +1,2 @@\n a\n+b\n");
}

static void what_is_apart_stands_apart(void **state) {
        assert_diff("x\n1\n2\n3\n4\n5\n6\n7\ny\n", "X\n1\n2\n3\n4\n5\n6\n7\nY\n",
                    "--- old\n+++ new\n@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n "
                    "7\n-y\n+Y\n");
        assert_diff("x\n1\n2\n3\n4\n5\n6\ny\n", "X\n1\n2\n3\n4\n5\n6\nY\n",
                    "--- old\n+++ new\n@@ -1,8 +1,8 @@\n-x\n+X\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n+Y\n");
}

static void the_last_newline_is_missed(void **state) {
        assert_diff("a\nb", "a\nb\n",
                    "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
}

static void a_terminal_gets_colours_and_no_commands(void **state) {
        static const TextStyle colours = {.colour = true};
        DiffSide x = {"old", "a\x1b[2J\n", 6}, y = {"new", "\tb\n", 3};
        Buf out = {};

        assert_int_equal(diff_append(&x, &y, &colours, true, &out), DIFF_DIFFERS);
        _cleanup_free_ char *text = buf_take_string(&out);
        assert_non_null(strstr(text, "\x1b[1;31m-a?[2J\x1b[0m\n\x1b[1;32m+\tb\x1b[0m\n"));
}

// ------------------------------------------------------------------------------------------------ at random

enum { TEXT_MAX = 200, RESULT_MAX = 4096 };

static void random_text(uint64_t *seed, char *ret) {
        size_t n = xorshift64(seed) % 40;

        *ret = 0;
        for (size_t i = 0; i < n; i++) {
                char line[] = {(char) ('a' + xorshift64(seed) % 4), '\n', 0};

                strcat(ret, line);
        }
        if (n > 0 && xorshift64(seed) % 4 == 0)
                ret[strlen(ret) - 1] = 0;
}

// Applies it; the ranges must be right.
static void patch(const char *a, const char *difference, char *ret, size_t *ret_changes) {
        const char *d = difference;
        size_t at = 0; // lines of `a` that were taken

        *ret = 0;
        *ret_changes = 0;
        d = strchr(strchr(d, '\n') + 1, '\n') + 1; // behind the names
        while (*d) {
                const char *newline = strchr(d, '\n');

                if (*d == '@') {
                        size_t first = strtoul(d + 4, NULL, 10);
                        bool none = strstr(d, ",0 +") && strstr(d, ",0 +") < newline;

                        for (; at + 1 < first + none; at++) {
                                strncat(ret, a, (size_t) (strchr(a, '\n') + 1 - a));
                                a = strchr(a, '\n') + 1;
                        }
                } else if (*d == '\\') {
                        // the line before it has none
                } else {
                        bool whole = newline[1] != '\\';
                        size_t len = (size_t) (newline - d) - 1 + whole;

                        if (*d != '+') {
                                assert_memory_equal(a, d + 1, len);
                                a += len;
                                at++;
                        }
                        if (*d != '-')
                                strncat(ret, d + 1, len);
                        *ret_changes += *d != ' ';
                }
                d = newline + 1;
        }
        strcat(ret, a);
}

static size_t count_lines(const char *text, const char *ends[TEXT_MAX]) {
        size_t n = 0;

        for (const char *p = text; *p; n++) {
                const char *newline = strchr(p, '\n');

                ends[n] = p;
                p = newline ? newline + 1 : p + strlen(p);
                ends[n + 1] = p;
        }
        return n;
}

static bool same_line(const char *const *a, const char *const *b) {
        size_t len = (size_t) (a[1] - a[0]);

        return len == (size_t) (b[1] - b[0]) && memcmp(*a, *b, len) == 0;
}

// By the longest common subsequence.
static size_t fewest_changes(const char *a, const char *b) {
        static size_t longest[TEXT_MAX][TEXT_MAX];
        const char *lines_a[TEXT_MAX], *lines_b[TEXT_MAX];
        size_t n = count_lines(a, lines_a), m = count_lines(b, lines_b);

        memset(longest, 0, sizeof(longest));
        for (size_t i = n; i-- > 0;)
                for (size_t j = m; j-- > 0;)
                        longest[i][j] = same_line(&lines_a[i], &lines_b[j])     ? longest[i + 1][j + 1] + 1
                                        : longest[i + 1][j] > longest[i][j + 1] ? longest[i + 1][j]
                                                                                : longest[i][j + 1];
        return n + m - 2 * longest[0][0];
}

static void a_difference_leads_from_one_to_the_other(void **state) {
        uint64_t seed = 4711;

        for (unsigned i = 0; i < 3000; i++) {
                char a[TEXT_MAX], b[TEXT_MAX], result[RESULT_MAX];
                size_t changes;

                random_text(&seed, a);
                random_text(&seed, b);
                if (strcmp(a, b) == 0)
                        continue;
                char *text = diff(a, b, DIFF_DIFFERS);
                patch(a, text, result, &changes);
                assert_string_equal(result, b);
                assert_int_equal(changes, fewest_changes(a, b));
                free(text);
        }
}

// As many lines as a unit file can have.
static void what_differs_in_everything_takes_no_time(void **state) {
        enum { LINES = 100000 };
        static char a[2 * LINES + 1], b[2 * LINES + 1];
        _cleanup_free_ char *text = NULL;

        for (size_t i = 0; i < LINES; i++) {
                memcpy(a + 2 * i, i % 3 ? "a\n" : "b\n", 2);
                memcpy(b + 2 * i, i % 5 ? "c\n" : "d\n", 2);
        }
        text = diff(a, b, DIFF_DIFFERS);
        assert_non_null(strstr(text, "@@ -1,100000 +1,100000 @@\n"));
}

RUN_TESTS(
        cmocka_unit_test(a_line_is_changed),
        cmocka_unit_test(the_same_is_nothing),
        cmocka_unit_test(lines_come_and_go),
        cmocka_unit_test(what_is_apart_stands_apart),
        cmocka_unit_test(the_last_newline_is_missed),
        cmocka_unit_test(a_terminal_gets_colours_and_no_commands),
        cmocka_unit_test(a_difference_leads_from_one_to_the_other),
        cmocka_unit_test(what_differs_in_everything_takes_no_time)
)
