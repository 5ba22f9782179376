// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "json.h"

static char *written(bool pretty, void (*write)(Json *j)) {
        char *text = NULL;
        size_t size;
        Json j = {.f = open_memstream(&text, &size), .pretty = pretty};

        assert_non_null(j.f);
        write(&j);
        fclose(j.f);
        return text;
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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(commas_stand_between_values),
                cmocka_unit_test(pretty_is_the_same_with_lines),
                cmocka_unit_test(an_empty_list_is_two_brackets),
                cmocka_unit_test(strings_are_escaped_and_made_valid),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
