// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which names are meant, whether they are named or matched.
#include "test.h"

#include "name-patterns.h"

static bool means(char *const *patterns, size_t n, const char *name) {
        NamePatterns p;

        assert_int_equal(name_patterns_init(&p, patterns, n), 0);
        bool means = name_patterns_match(&p, name);
        name_patterns_done(&p);
        return means;
}

static void who_names_nothing_means_all(void **state) {
        NamePatterns zeroed = {};

        assert_true(means(NULL, 0, "a.service"));
        assert_true(name_patterns_match(&zeroed, "a.service"));
}

static void names_and_wildcards_stand_side_by_side(void **state) {
        char *patterns[] = {"a.service", "web@*", "a.service", "db@[12].service", "x?.service"};

        assert_true(means(patterns, 5, "a.service"));
        assert_true(means(patterns, 5, "web@7.service"));
        assert_true(means(patterns, 5, "db@2.service"));
        assert_true(means(patterns, 5, "xy.service"));
        assert_false(means(patterns, 5, "db@3.service"));
        assert_false(means(patterns, 5, "a.socket"));
        assert_false(means(patterns, 5, "x.service"));
        assert_false(means(patterns, 1, "web@7.service"));
}

static void a_backslash_is_a_character(void **state) {
        char *patterns[] = {"dev-\\x2d.device", "mnt-\\x2d*"};

        assert_true(means(patterns, 2, "dev-\\x2d.device"));
        assert_true(means(patterns, 2, "mnt-\\x2da.mount"));
}

static void only_so_many_are_compared(void **state) {
        char *patterns[NAME_GLOBS_MAX + 1], name[NAME_GLOB_MAX + 2];

        for (size_t i = 0; i <= NAME_GLOBS_MAX; i++)
                patterns[i] = "web@*";
        assert_null(name_patterns_error(patterns, NAME_GLOBS_MAX));
        assert_non_null(name_patterns_error(patterns, NAME_GLOBS_MAX + 1));
        patterns[0] = "web@1.service";
        assert_null(name_patterns_error(patterns, NAME_GLOBS_MAX + 1));
        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = 0;
        patterns[0] = name;
        assert_non_null(name_patterns_error(patterns, 1));
        name[NAME_GLOB_MAX] = 0;
        assert_null(name_patterns_error(patterns, 1));
}

RUN_TESTS(
        cmocka_unit_test(who_names_nothing_means_all),
        cmocka_unit_test(names_and_wildcards_stand_side_by_side),
        cmocka_unit_test(a_backslash_is_a_character),
        cmocka_unit_test(only_so_many_are_compared)
)
