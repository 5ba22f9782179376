// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "json.h"

static char *written(bool pretty, void (*write)(Json *j)) {
        Json j = {.pretty = pretty};

        write(&j);
        assert_false(j.failed);
        return buf_take_string(&j.text);
}

static void nested(Json *j) {
        json_begin(j, '[');
        json_begin(j, '{');
        json_key(j, "unit");
        json_string(j, "a.service");
        json_key(j, "n");
        json_u64(j, UINT64_MAX);
        json_key(j, "sub");
        json_begin(j, '{');
        json_end(j, '}');
        json_end(j, '}');
        json_bool(j, false);
        json_i64(j, -3);
        json_end(j, ']');
        json_finish(j);
}

static void commas_stand_between_values(void **state) {
        _cleanup_free_ char *text = written(false, nested);

        assert_string_equal(text,
                            "[{\"unit\":\"a.service\",\"n\":18446744073709551615,\"sub\":{}},false,-3]\n");
}

static void pretty_is_the_same_with_lines(void **state) {
        _cleanup_free_ char *text = written(true, nested);

        assert_string_equal(text, "[\n  {\n    \"unit\": \"a.service\",\n    \"n\": 18446744073709551615,\n"
                                  "    \"sub\": {}\n  },\n  false,\n  -3\n]\n");
}

static void empty(Json *j) {
        json_begin(j, '[');
        json_end(j, ']');
        json_finish(j);
}

static void an_empty_list_is_two_brackets(void **state) {
        _cleanup_free_ char *text = written(true, empty);

        assert_string_equal(text, "[]\n");
}

static void odd_strings(Json *j) {
        json_string(j, "\"\\\n\t\x01\x7f\xc3\xa4\xff/");
}

static void strings_are_escaped_and_made_valid(void **state) {
        _cleanup_free_ char *text = written(false, odd_strings);

        assert_string_equal(text, "\"\\\"\\\\\\n\\t\\u0001\\u007f\xc3\xa4\\ufffd/\"");
}

// A string is written in pieces, and eight bytes at a time: whatever stands at whichever place of either
// comes out.
static void odd_bytes_are_found_wherever_they_stand(void **state) {
        static const struct {
                const char *in, *out;
        } odd[] = {{"\"", "\\\""},
                   {"\\", "\\\\"},
                   {"\x1f", "\\u001f"},
                   {"\x7f", "\\u007f"},
                   {"\xc3\xa4", "\xc3\xa4"},
                   {"\xf0\x9f\x9a\xa2", "\xf0\x9f\x9a\xa2"},
                   {"\x80", "\\ufffd"},
                   {"\xc2\x9b", "\\u009b"},         // a terminal's CSI
                   {"\xc2\xa0", "\xc2\xa0"},
                   {"\xe2\x80\xae", "\\u202e"},     // turns round what follows
                   {"\xe2\x81\xa6", "\\u2066"},
                   {"\xd8\x9c", "\\u061c"},
                   {"\xe2\x80\xa8", "\\u2028"},
                   {"\xef\xbb\xbf", "\\ufeff"},
                   {"\xd7\x90", "\xd7\x90"},
                   {" ", " "},
                   {"~", "~"}};

        for (size_t i = 0; i < ELEMENTSOF(odd); i++)
                for (size_t at = 0; at < 1100; at += at < 40 || (at > 500 && at < 530) ? 1 : 7) {
                        _cleanup_buf_ Buf in = {}, out = {};
                        Json j = {};

                        buf_printf(&in, "%*s%s%20s%c", (int) at, "", odd[i].in, "x", 0);
                        buf_printf(&out, "\"%*s%s%20s\"", (int) at, "", odd[i].out, "x");
                        json_string(&j, (const char *) in.data);
                        assert_int_equal(j.text.len, out.len);
                        assert_memory_equal(j.text.data, out.data, out.len);
                        json_done(&j);
                }
}

static void numbers(Json *j) {
        static const int64_t values[] = {0, 9, 10, 99, 100, -1, INT64_MAX, INT64_MIN};

        json_begin(j, '[');
        for (size_t i = 0; i < ELEMENTSOF(values); i++)
                json_i64(j, values[i]);
        json_tenths(j, 125);
        json_tenths(j, 7);
        json_null(j);
        json_end(j, ']');
}

static void numbers_are_whole(void **state) {
        _cleanup_free_ char *text = written(false, numbers);

        assert_string_equal(text,
                            "[0,9,10,99,100,-1,9223372036854775807,-9223372036854775808,12.5,0.7,null]");
}

// Who reads a list from a pipe gets each row when it is there.
static void a_file_has_each_row_at_once_and_all_in_the_end(void **state) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        Json j = {.f = f};

        json_begin(&j, '[');
        json_begin(&j, '{');
        json_strings(&j, (const char *const[][2]){{"unit", "a.service"}}, 1);
        json_end(&j, '}');
        fflush(f);
        assert_string_equal(text, "[{\"unit\":\"a.service\"}");
        json_begin(&j, '{');
        for (size_t i = 0; i < 100000; i++)
                json_strings(&j, (const char *const[][2]){{"k", "v"}}, 1);
        assert_true(j.text.allocated <= 128 * 1024);
        json_end(&j, '}');
        json_end(&j, ']');
        json_finish(&j);
        assert_null(j.text.data);
        fclose(f);
        assert_int_equal(size,
                         strlen("[{\"unit\":\"a.service\"},{}]\n") + 100000 * strlen("\"k\":\"v\",") - 1);
}

RUN_TESTS(
        cmocka_unit_test(commas_stand_between_values),
        cmocka_unit_test(pretty_is_the_same_with_lines),
        cmocka_unit_test(an_empty_list_is_two_brackets),
        cmocka_unit_test(strings_are_escaped_and_made_valid),
        cmocka_unit_test(odd_bytes_are_found_wherever_they_stand),
        cmocka_unit_test(numbers_are_whole),
        cmocka_unit_test(a_file_has_each_row_at_once_and_all_in_the_end)
)
