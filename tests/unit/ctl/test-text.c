// SPDX-License-Identifier: LGPL-2.1-or-later
#include <locale.h>

#include "test.h"

#include "str.h"
#include "text.h"

static const char *taken(Buf *b) {
        assert_int_equal(buf_append(b, "", 1), 0);
        b->len = 0;
        return (const char *) b->data;
}

static void spans_have_two_units_at_most(void **state) {
        static const struct {
                uint64_t us;
                const char *text;
        } cases[] = {{0, "0"},
                     {7, "7us"},
                     {1500, "1ms"},
                     {999999, "999ms"},
                     {1000000, "1s"},
                     {61000000, "1min 1s"},
                     {60000000, "1min"},
                     {3600000000, "1h"},
                     {3605000000, "1h 5s"},
                     {86400000000, "1 day"},
                     {183600000000, "2 days 3h"}};
        _cleanup_buf_ Buf b = {};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(text_append_span(&b, cases[i].us), 0);
                assert_string_equal(taken(&b), cases[i].text);
        }
}

static void sizes_are_powers_of_1024(void **state) {
        static const struct {
                uint64_t bytes;
                const char *text;
        } cases[] = {{0, "0B"},      {1023, "1023B"},   {1024, "1.0K"},
                     {1536, "1.5K"}, {4718592, "4.5M"}, {UINT64_MAX, "15.9E"}};
        _cleanup_buf_ Buf b = {};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(text_append_bytes(&b, cases[i].bytes), 0);
                assert_string_equal(taken(&b), cases[i].text);
        }
}

static void long_names_lose_their_middle(void **state) {
        _cleanup_buf_ Buf b = {};
        size_t width;

        assert_int_equal(text_append_ellipsised(&b, "short", 5, true, &width), 0);
        assert_string_equal(taken(&b), "short");
        assert_int_equal(text_append_ellipsised(&b, "web-frontend.service", 11, true, &width), 0);
        assert_string_equal(taken(&b), "web-f\xe2\x80\xa6rvice");
        assert_int_equal(text_append_ellipsised(&b, "web-frontend.service", 11, false, &width), 0);
        assert_string_equal(taken(&b), "web-...vice");
        assert_int_equal(text_append_ellipsised(&b, "abcdef", 2, true, &width), 0);
        assert_string_equal(taken(&b), "ab");
        assert_int_equal(
                text_append_ellipsised(&b, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4", 3, true, &width), 0);
        assert_string_equal(taken(&b), "\xc3\xa4\xe2\x80\xa6\xc3\xa4");
}

#define WIDE "\xe6\xbc\xa2" // two columns
#define ACUTE "\xcc\x81"    // none: it is combined with what stands before

static void columns_are_counted_as_a_terminal_has_them(void **state) {
        _cleanup_buf_ Buf b = {};
        size_t width;

        assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
        assert_int_equal(text_width("ab" WIDE "e" ACUTE), 5);
        assert_int_equal(text_append_ellipsised(&b, WIDE WIDE WIDE WIDE WIDE, 10, true, &width), 0);
        assert_string_equal(taken(&b), WIDE WIDE WIDE WIDE WIDE);
        assert_int_equal(width, 10);
        assert_int_equal(text_append_ellipsised(&b, WIDE WIDE WIDE WIDE WIDE, 9, true, &width), 0);
        assert_string_equal(taken(&b), WIDE WIDE "\xe2\x80\xa6" WIDE WIDE);
        assert_int_equal(width, 9);
        assert_int_equal(text_append_ellipsised(&b, WIDE WIDE WIDE WIDE WIDE, 8, true, &width), 0);
        assert_string_equal(taken(&b), WIDE WIDE "\xe2\x80\xa6" WIDE);
        assert_int_equal(width, 7); // no half of one
        assert_int_equal(text_append_ellipsised(&b, "ae" ACUTE "bcde" ACUTE "f", 5, true, &width), 0);
        assert_string_equal(taken(&b), "ae" ACUTE "\xe2\x80\xa6" "e" ACUTE "f");
        assert_int_equal(width, 5);
        assert_int_equal(text_append_ellipsised(&b, WIDE "a", 1, true, &width), 0);
        assert_string_equal(taken(&b), "");
        assert_int_equal(width, 0);
        setlocale(LC_CTYPE, "C");
}

static void nothing_reaches_the_terminal_as_a_command(void **state) {
        _cleanup_buf_ Buf b = {};

        assert_int_equal(text_append_clean(&b, "a\x1b[2J\x07\tb\n", false), 0);
        assert_string_equal(taken(&b), "a?[2J??b?");
        assert_int_equal(text_append_clean(&b, "a\tb\xc2\x9b", true), 0); // U+009B is CSI
        assert_string_equal(taken(&b), "a\tb?");
        assert_int_equal(text_append_clean(&b, "\xff\xc3\xa4\xc3", false), 0);
        assert_string_equal(taken(&b), "?\xc3\xa4?");
        // U+202E turns round what follows
        assert_int_equal(text_append_clean(&b, "a\xe2\x80\xae" "b\xd7\x90", false), 0);
        assert_string_equal(taken(&b), "a?b\xd7\x90");
}

static void only_true_utf8_is_taken(void **state) {
        static const struct {
                const char *bytes;
                size_t len;
        } cases[] = {{"a", 1},
                     {"\xc3\xa4", 2},
                     {"\xe2\x80\xa6", 3},
                     {"\xf0\x9f\x98\x80", 4},
                     {"\xc0\x80", 0},         // overlong
                     {"\xe0\x80\x80", 0},     // overlong
                     {"\xed\xa0\x80", 0},     // surrogate
                     {"\xf4\x90\x80\x80", 0}, // beyond U+10FFFF
                     {"\x80", 0},
                     {"\xe2\x80", 0}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(str_utf8_len((const uint8_t *) cases[i].bytes), cases[i].len);
        assert_int_equal(text_width("\xc3\xa4\xff x"), 4);
}

static void colours_can_be_off(void **state) {
        TextStyle on = {.colour = true}, off = {};

        assert_string_equal(colour_on(&off, COLOUR_RED), "");
        assert_string_equal(colour_off(&off, COLOUR_RED), "");
        assert_string_equal(colour_on(&on, COLOUR_NONE), "");
        assert_string_equal(colour_off(&on, COLOUR_NONE), "");
        assert_string_equal(colour_on(&on, COLOUR_RED), "\x1b[1;31m");
}

static void times_are_shown_in_the_local_zone(void **state) {
        _cleanup_buf_ Buf b = {};

        setenv("TZ", "UTC", 1);
        assert_int_equal(text_append_time(&b, UINT64_C(1763632800000000)), 0);
        assert_string_equal(taken(&b), "Thu 2025-11-20 10:00:00 UTC");
}

RUN_TESTS(
        cmocka_unit_test(spans_have_two_units_at_most),
        cmocka_unit_test(sizes_are_powers_of_1024),
        cmocka_unit_test(columns_are_counted_as_a_terminal_has_them),
        cmocka_unit_test(long_names_lose_their_middle),
        cmocka_unit_test(nothing_reaches_the_terminal_as_a_command),
        cmocka_unit_test(only_true_utf8_is_taken),
        cmocka_unit_test(colours_can_be_off),
        cmocka_unit_test(times_are_shown_in_the_local_zone)
)
