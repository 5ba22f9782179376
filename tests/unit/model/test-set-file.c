// SPDX-License-Identifier: LGPL-2.1-or-later
//
// argosy.set: what it says, and what is wrong with it.
#include "test.h"

#include "macro.h"
#include "set-file.h"

static void it_names_a_set_instances_and_what_they_are_to_be(void **state) {
        static const char text[] =
                "# the shop\nset shop\n\n launched web@{1..2}.service\tworker # of the night\n"
                "loaded batch.timer\r\ninactive old.service";
        static const struct {
                const char *name;
                Argosy__Target target;
                unsigned line;
        } wanted[] = {{"web@1.service", ARGOSY__TARGET__TARGET_LAUNCHED, 4},
                      {"web@2.service", ARGOSY__TARGET__TARGET_LAUNCHED, 4},
                      {"worker.service", ARGOSY__TARGET__TARGET_LAUNCHED, 4},
                      {"batch.timer", ARGOSY__TARGET__TARGET_LOADED, 5},
                      {"old.service", ARGOSY__TARGET__TARGET_INACTIVE, 6}};
        _cleanup_set_file_ SetFile f = {};
        _cleanup_buf_ Buf why = {};

        assert_int_equal(set_file_parse("argosy.set", text, strlen(text), &f, &why), 0);
        assert_string_equal(f.set, "shop");
        assert_int_equal(f.n, ELEMENTSOF(wanted));
        for (size_t i = 0; i < f.n; i++) {
                assert_string_equal(f.units[i].name, wanted[i].name);
                assert_int_equal(f.units[i].target, wanted[i].target);
                assert_int_equal(f.units[i].line, wanted[i].line);
        }
}

static void an_empty_one_says_nothing(void **state) {
        _cleanup_set_file_ SetFile f = {};
        _cleanup_buf_ Buf why = {};

        assert_int_equal(set_file_parse("argosy.set", "", 0, &f, &why), 0);
        assert_null(f.set);
        assert_int_equal(f.n, 0);
}

static const struct {
        const char *text, *why;
} wrong[] = {
        {"start web", "x:1: 'start' is none of set, launched, loaded and inactive"},
        {"set a\nincomplete\nlaunched web",
         "x:2: 'incomplete' is what an export leaves that has not come to its end; export it again"},
        {"\nlaunched web@.service", "x:2: 'web@.service' is a template; name instances of it"},
        {"launched web web.service", "x:1: 'web.service' is named twice"},
        {"launched web\nloaded web", "x:2: 'web.service' is named twice"},
        {"launched # nothing", "x:1: 'launched' is followed by nothing"},
        {"launched a/b", "x:1: 'a/b' is not the name of a unit"},
        {"launched web@{1..", "x:1: 'web@{1..' is not a range like {1..100} or {a,b}"},
        {"launched web@{1..4097}", "x:1: 'web@{1..4097}' makes more units than a set may have"},
        {"launched web@{1..4095} a b", "x:1: 'b.service' is one unit more than a set may have"},
        {"set one\nset two", "x:2: 'two' is a second name of the set"},
        {"set -a", "x:1: '-a' cannot be the name of a set"},
        {"set \x1b[2J", "x:1: '?[2J' cannot be the name of a set"},
};

static void what_is_wrong_is_said_with_its_line(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++) {
                _cleanup_set_file_ SetFile f = {};
                _cleanup_buf_ Buf why = {};

                assert_true(set_file_parse("x", wrong[i].text, strlen(wrong[i].text), &f, &why) < 0);
                assert_int_equal(buf_append(&why, "", 1), 0);
                assert_string_equal((const char *) why.data, wrong[i].why);
        }
}

static void a_set_has_a_plain_name(void **state) {
        char longest[65];

        memset(longest, 'a', sizeof(longest));
        longest[64] = 0;
        assert_false(set_name_is_valid(longest));
        longest[63] = 0;
        assert_true(set_name_is_valid(longest));
        assert_true(set_name_is_valid("shop-2.eu_west"));
        assert_false(set_name_is_valid(""));
        assert_false(set_name_is_valid("a b"));
        assert_false(set_name_is_valid(".git"));
        assert_false(set_name_is_valid("a/b"));
}

RUN_TESTS(
        cmocka_unit_test(it_names_a_set_instances_and_what_they_are_to_be),
        cmocka_unit_test(an_empty_one_says_nothing),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(a_set_has_a_plain_name)
)
