// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "http-json.h"
#include "macro.h"

static int parse(const char *text, cJSON **ret) {
        const char *why = "";
        int r = http_json_parse(text, strlen(text), ret, &why);

        assert_true(r == 0 || *why);
        return r;
}

static void an_object_is_read(void **state) {
        cJSON *value;

        assert_int_equal(parse(" {\"a\":[1,{\"b\":\"c \\\" ] }\"}],\"d\":null} \r\n", &value), 0);
        assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(value, "a"), 1)->child->valuestring,
                            "c \" ] }");
        cJSON_Delete(value);
}

static void what_is_no_object_is_refused(void **state) {
        static const char *const texts[] = {"",
                                            " ",
                                            "1",
                                            "[]",
                                            "\"a\"",
                                            "{",
                                            "{}{}",
                                            "{} x",
                                            "{'a':1}",
                                            "{\"a\":}",
                                            "{\"a\":1,}",
                                            "{\"a\":\"b",
                                            "{\"a\":\"\\u0000\"}",
                                            "{\"a\\u0000b\":1}",
                                            "{\"a\":\"\xff\"}",
                                            "{\"a\":1,\"a\":2}",
                                            "{\"b\":[{\"a\":1,\"a\":2}]}"};

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                cJSON *value = NULL;

                assert_int_equal(parse(texts[i], &value), -EINVAL);
                assert_null(value);
        }
}

static void a_nul_ends_no_text(void **state) {
        static const char text[] = "{\"a\":1}\0{";
        const char *why;
        cJSON *value;

        assert_int_equal(http_json_parse(text, sizeof(text) - 1, &value, &why), -EINVAL);
}

static void depth_has_a_limit(void **state) {
        _cleanup_buf_ Buf text = {};
        _cleanup_free_ char *all = NULL;
        cJSON *value;

        assert_int_equal(parse("{\"a\":[[[[[[[]]]]]]]}", &value), 0);
        cJSON_Delete(value);
        assert_int_equal(parse("{\"a\":[[[[[[[[]]]]]]]]}", &value), -E2BIG);
        for (int i = 0; i < 100000; i++)
                assert_int_equal(buf_append(&text, "[", 1), 0);
        all = buf_take_string(&text);
        assert_int_equal(parse(all, &value), -E2BIG);
}

static void values_have_a_limit(void **state) {
        _cleanup_buf_ Buf text = {};
        _cleanup_free_ char *all = NULL;
        cJSON *value;

        assert_int_equal(buf_printf(&text, "{\"a\":[0"), 0);
        for (int i = 0; i < HTTP_JSON_VALUES_MAX; i++)
                assert_int_equal(buf_append(&text, ",0", 2), 0);
        assert_int_equal(buf_printf(&text, "]}"), 0);
        all = buf_take_string(&text);
        assert_int_equal(parse(all, &value), -E2BIG);
}

RUN_TESTS(
        cmocka_unit_test(an_object_is_read),   cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(a_nul_ends_no_text),  cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(values_have_a_limit)
)
