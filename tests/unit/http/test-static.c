// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-static.h"
#include "macro.h"
#include "str.h"

static const HttpStatic *find(const char *name) {
        return http_static_find(name, strlen(name));
}

static void a_file_is_found_by_its_whole_name(void **state) {
        static const char *const others[] = {"main",       "main.js.",  "MAIN.JS",
                                             "../main.js", "%6dain.js", "index"};

        assert_non_null(find("main.js"));
        assert_string_equal(find("")->name, "index.html");
        assert_ptr_equal(find(""), find("index.html"));
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                assert_null(find(others[i]));
}

// Who follows a link over a slow line has all of it soon.
static void all_of_them_are_small(void **state) {
        size_t total = 0;

        for (const HttpStatic *f = http_static_files; f->name; f++) {
                assert_true(f->len > 0);
                total += f->len;
        }
        assert_in_range(total, 1, HTTP_STATIC_BYTES_MAX);
}

static void each_says_what_it_is(void **state) {
        assert_string_equal(find("index.html")->type, "text/html; charset=utf-8");
        assert_string_equal(find("main.js")->type, "text/javascript; charset=utf-8");
        assert_string_equal(find("dashboard.css")->type, "text/css; charset=utf-8");
        assert_string_equal(find("icon.svg")->type, "image/svg+xml");
}

static void each_has_a_tag_of_its_own(void **state) {
        for (const HttpStatic *f = http_static_files; f->name; f++) {
                assert_int_equal(strlen(f->tag), 34);
                for (const HttpStatic *g = f + 1; g->name; g++)
                        assert_string_not_equal(f->tag, g->tag);
        }
}

static void who_has_a_file_is_known_by_its_tag(void **state) {
        const HttpStatic *f = find("main.js");
        const struct {
                const char *format;
                bool known;
        } cases[] = {{"%s", true},     {"W/%s", true}, {"\"a\", %s", true}, {"\"a\",W/%s,\"b\"", true},
                     {"*", true},      {"", false},    {"\"\"", false},     {"\"a\"", false},
                     {"\"x%s", false}, {"\"", false},  {"\"*\"", false}};
        char text[128];

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                str_fit(text, sizeof(text), cases[i].format, f->tag);
                if (http_static_is_known(f, text) != cases[i].known)
                        fail_msg("%s", text);
        }
        assert_false(http_static_is_known(f, find("icon.svg")->tag));
}

RUN_TESTS(
        cmocka_unit_test(a_file_is_found_by_its_whole_name),
        cmocka_unit_test(all_of_them_are_small),
        cmocka_unit_test(each_says_what_it_is),
        cmocka_unit_test(each_has_a_tag_of_its_own),
        cmocka_unit_test(who_has_a_file_is_known_by_its_tag)
)
