// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-names.h"
#include "macro.h"
#include "str.h"

static const char *named(const char *text) {
        static HttpName name;

        return http_name_parse(text, strlen(text), &name) ? name.text : NULL;
}

static const char *hosted(const char *text) {
        static HttpName name;

        return http_name_of_host(text, &name) ? name.text : NULL;
}

static void what_means_the_same_is_the_same(void **state) {
        assert_string_equal(named("Web.Example.ORG."), "web.example.org");
        assert_string_equal(named("[0:0::0001]"), "::1");
        assert_string_equal(named("2001:DB8::A"), "2001:db8::a");
        assert_string_equal(named("10.0.7.12"), "10.0.7.12");
}

static void what_is_neither_name_nor_address_is_refused(void **state) {
        static const char *const texts[] = {"",    ".",        "a..b", ".a",    "a b",   "a@b",
                                            "a/b", "a:b",      "[::1", "[]",    "[a.b]", "[1.2.3.4]",
                                            "a,b", "\xc3\xa4", "a\tb", "a%00b", "::1]",  "[::1%lo]"};
        char longest[HTTP_NAME_MAX + 2];

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_null(named(texts[i]));
        memset(longest, 'a', sizeof(longest) - 1);
        longest[sizeof(longest) - 1] = 0;
        assert_null(named(longest));
        longest[HTTP_NAME_MAX] = 0;
        assert_string_equal(named(longest), longest);
}

static void a_host_is_a_name_and_perhaps_a_port(void **state) {
        static const char *const bad[] = {"",     "a:",   "a:1:2",  "a:65536",  "a:-1",
                                          "::1",  "[::1", "[::1]x", "[::1]:",   "a b:1",
                                          "a:1 ", ":1",   "u@a",    "[::1]:1:1"};

        assert_string_equal(hosted("Web:8443"), "web");
        assert_string_equal(hosted("web"), "web");
        assert_string_equal(hosted("10.0.0.1:1"), "10.0.0.1");
        assert_string_equal(hosted("[::0001]:8443"), "::1");
        assert_string_equal(hosted("[::1]"), "::1");
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_null(hosted(bad[i]));
}

static void names_are_kept_in_one_order_and_once(void **state) {
        static const char *const texts[] = {"b", "a", "B", "::1", "c", "a."};
        HttpNames names = {}, other = {};
        HttpName name;

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                assert_true(http_name_parse(texts[i], strlen(texts[i]), &name));
                assert_true(http_names_add(&names, &name));
                assert_true(http_name_parse(texts[ELEMENTSOF(texts) - 1 - i],
                                            strlen(texts[ELEMENTSOF(texts) - 1 - i]), &name));
                assert_true(http_names_add(&other, &name));
        }
        assert_int_equal(names.n, 4);
        assert_string_equal(names.names[0].text, "::1");
        assert_string_equal(names.names[1].text, "a");
        assert_true(http_names_are_equal(&names, &other));
        other.n--;
        assert_false(http_names_are_equal(&names, &other));
        assert_true(http_name_parse("c", 1, &name) && http_names_have(&names, &name));
        assert_true(http_name_parse("d", 1, &name) && !http_names_have(&names, &name));
}

static void there_is_room_for_so_many(void **state) {
        HttpNames names = {};
        HttpName name;

        for (size_t i = 0; i <= HTTP_NAMES_MAX; i++) {
                str_fit(name.text, sizeof(name.text), "n%zu", i);
                assert_int_equal(http_names_add(&names, &name), i < HTTP_NAMES_MAX);
        }
}

static void an_address_is_told_from_a_name(void **state) {
        HttpName name;

        assert_true(http_name_parse("127.0.0.1", 9, &name) && http_name_is_address(&name));
        assert_true(http_name_parse("[::1]", 5, &name) && http_name_is_address(&name));
        assert_true(http_name_parse("127.1", 5, &name) && !http_name_is_address(&name));
}

static void an_origin_is_scheme_and_host(void **state) {
        assert_true(http_origin_is("https://Web:8443", true, "web:8443"));
        assert_true(http_origin_is("http://web", false, "web"));
        assert_false(http_origin_is("http://web:8443", true, "web:8443"));
        assert_false(http_origin_is("https://web:8443", false, "web:8443"));
        assert_false(http_origin_is("https://web", true, "web:8443"));
        assert_false(http_origin_is("https://web.evil", true, "web"));
        assert_false(http_origin_is("null", true, "web"));
        assert_false(http_origin_is("", true, ""));
}

RUN_TESTS(
        cmocka_unit_test(what_means_the_same_is_the_same),
        cmocka_unit_test(what_is_neither_name_nor_address_is_refused),
        cmocka_unit_test(a_host_is_a_name_and_perhaps_a_port),
        cmocka_unit_test(names_are_kept_in_one_order_and_once),
        cmocka_unit_test(there_is_room_for_so_many),
        cmocka_unit_test(an_address_is_told_from_a_name),
        cmocka_unit_test(an_origin_is_scheme_and_host)
)
