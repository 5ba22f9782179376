// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "str.h"

static void spans_are_read_as_systemd_writes_them(void **state) {
        static const struct {
                const char *text;
                uint64_t us;
        } good[] = {{"5", 5000000},   {"5s", 5000000}, {"500ms", 500000},
                    {"1.5", 1500000}, {"0.6", 600000}, {"2min", 120000000}, {"30d", 2592000000000}};
        static const char *const bad[] = {"", "s", "-1", "5x", "1,5", "99999999999"};
        uint64_t us;

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                assert_true(parse_span_us(good[i].text, &us));
                assert_int_equal(us, good[i].us);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_false(parse_span_us(bad[i], &us));
}

static void numbers_have_limits(void **state) {
        uint64_t n;

        assert_true(parse_u64("65535", 65535, &n));
        assert_int_equal(n, 65535);
        assert_false(parse_u64("65536", 65535, &n));
        assert_false(parse_u64("", 10, &n));
        assert_false(parse_u64("-1", UINT64_MAX, &n));
        assert_false(parse_u64("18446744073709551616", UINT64_MAX, &n));
}

static void a_part_of_a_url_is_decoded_once(void **state) {
        static const struct {
                const char *text;
                bool plus_is_blank;
                const char *decoded; // NULL: it is none
        } cases[] = {
                {"", false, ""},
                {"web%40a.service", false, "web@a.service"},
                {"%2f%2F", false, "//"},
                {"%2541", false, "%41"},
                {"a+b%2b", false, "a+b+"},
                {"a+b%2b", true, "a b+"},
                {"%c3%28", false, "\303("}, // is no text: nobody asks here
                {"%00", false, NULL},
                {"%", false, NULL},
                {"%4", false, NULL},
                {"%4g", false, NULL},
                {"%-1", false, NULL},
                {"% 1", false, NULL},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *out = NULL;
                int r = percent_decode(cases[i].text, strlen(cases[i].text), cases[i].plus_is_blank, &out);

                assert_int_equal(r, cases[i].decoded ? 0 : -EINVAL);
                if (cases[i].decoded)
                        assert_string_equal(out, cases[i].decoded);
                else
                        assert_null(out);
        }
}

// What stands behind is another part.
static void an_escape_ends_with_its_part(void **state) {
        _cleanup_free_ char *out = NULL;

        assert_int_equal(percent_decode("a%41&b", 3, false, &out), -EINVAL);
        assert_int_equal(percent_decode("a%41&b", 4, false, &out), 0);
        assert_string_equal(out, "aA");
}

static void what_is_wrong_is_said_in_whole_characters(void **state) {
        _cleanup_free_ char *why = NULL, *words = NULL;
        char text[2 * STR_WHY_SIZE] = "";

        for (size_t i = 0; i < STR_WHY_SIZE - 2; i++)
                text[i] = 'x';
        memcpy(text + STR_WHY_SIZE - 2, "\303\244 and more", 12);
        assert_int_equal(str_refuse(&words, "'%s' is no number, nor is %i", "a", 7), -EINVAL);
        assert_string_equal(words, "'a' is no number, nor is 7");
        assert_int_equal(str_refuse(&why, "%s", text), -EINVAL);
        assert_int_equal(strlen(why), STR_WHY_SIZE - 2);
}

static void hex_goes_there_and_back(void **state) {
        uint8_t in[] = {0, 1, 0xab, 0xff}, out[4];
        char hex[9];

        hex_encode(in, 4, hex);
        assert_string_equal(hex, "0001abff");
        assert_true(hex_decode(hex, out, 4));
        assert_memory_equal(in, out, 4);
        assert_false(hex_decode("0001abf", out, 4));
        assert_false(hex_decode("0001abfg", out, 4));
}

// Protobuf's strings are UTF-8, and terminals expect it.
static void text_is_cut_at_the_border_of_a_character(void **state) {
        static const char grin[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; // of 1, 2, 3, 4 and 1 bytes
        static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
        char fitted[16];

        for (size_t max = 0; max < ELEMENTSOF(kept); max++) {
                assert_int_equal(str_cut(grin, max), kept[max]);
                assert_int_equal(str_fit(fitted, max + 1, "%s", grin), kept[max]);
                assert_int_equal(strlen(fitted), kept[max]);
                assert_memory_equal(fitted, grin, kept[max]);
        }
}

static void bytes_that_are_no_characters_are_cut_anywhere(void **state) {
        static const char latin[] = "caf\xe9 \x80\x80\x80\x80\x80\x80\x80";
        char fitted[16];

        assert_int_equal(str_cut(latin, 10), 10);
        assert_int_equal(str_cut(latin, 4), 4);
        assert_int_equal(str_fit(fitted, 11, "%s", latin), 10);
        assert_int_equal(str_fit(fitted, 1, "%s", latin), 0);
        assert_int_equal(str_fit(fitted, 16, "%s", latin), 12);
}

static void words_of_people_turn_no_text_around(void **state) {
        static const char *const good[] = {"", "alice", "J\xc3\xb6rg M\xc3\xbcller",
                                           "\xe6\x9d\xb1\xe4\xba\xac", "\xf0\x9f\x90\x99"},
                                 *const bad[] = {"a\nb",
                                                 "a\x1b[31m",
                                                 "\x7f",
                                                 "\xc2\x85",
                                                 "\xff",
                                                 "\xc3",
                                                 "\xe2\x80\xae"
                                                 "a",
                                                 "\xe2\x81\xa6",
                                                 "\xd8\x9c",
                                                 "\xe2\x80\x8f",
                                                 "\xed\xa0\x80",
                                                 "\xe2\x80\xa8"};

        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                assert_true(str_is_plain(good[i]));
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_false(str_is_plain(bad[i]));
}

static void a_path_lies_beneath_whole_folders(void **state) {
        assert_true(path_is_beneath("/srv/web", "/srv/web"));
        assert_true(path_is_beneath("/srv/web/conf", "/srv/web"));
        assert_true(path_is_beneath("conf/a", "conf"));
        assert_false(path_is_beneath("/srv/website", "/srv/web"));
        assert_false(path_is_beneath("/srv", "/srv/web"));
}

RUN_TESTS(
        cmocka_unit_test(spans_are_read_as_systemd_writes_them),
        cmocka_unit_test(words_of_people_turn_no_text_around),
        cmocka_unit_test(numbers_have_limits),
        cmocka_unit_test(hex_goes_there_and_back),
        cmocka_unit_test(a_part_of_a_url_is_decoded_once),
        cmocka_unit_test(what_is_wrong_is_said_in_whole_characters),
        cmocka_unit_test(an_escape_ends_with_its_part),
        cmocka_unit_test(text_is_cut_at_the_border_of_a_character),
        cmocka_unit_test(bytes_that_are_no_characters_are_cut_anywhere),
        cmocka_unit_test(a_path_lies_beneath_whole_folders)
)
