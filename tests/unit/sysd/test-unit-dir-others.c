// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Names and files of others in the directory, and what a new run finds of its own.
#include "unit-dir-words.h"

static void nobody_elses_file_is_touched(void **state) {
        put_foreign("units/theirs.service", "theirs");
        put_foreign("units/t@.service", "theirs");
        assert_int_equal(symlink("/dev/null", "units/masked.service"), 0);
        UnitDirItem items[] = {
                item_of("theirs.service", "ours", false, NULL),
                item_of("t@1.service", "ours", true, NULL),
                item_of("masked.service", "ours", false, NULL),
                item_of("good.service", "ours", false, NULL),
        };

        unit_dir_apply(d, items, ELEMENTSOF(items));
        for (size_t i = 0; i < 3; i++)
                assert_int_equal(items[i].error, -EEXIST);
        assert_int_equal(items[3].error, 0);
        assert_file("units/theirs.service", "theirs");
        assert_file("units/t@.service", "theirs");
        assert_int_equal(count_files("units"), 5); // three of theirs, good.service and its drop-in
        assert_false(unit_dir_find(d, "t@1.service", NULL));
        assert_int_equal(remove_one("theirs.service"), 0);
        assert_file("units/theirs.service", "theirs");
}

static void a_mask_over_our_file_is_respected(void **state) {
        assert_int_equal(write_one("w@1.service", "old", true, NULL), 0);
        assert_int_equal(write_one("w@2.service", "old", true, NULL), 0);
        assert_int_equal(write_one("web.service", "x", false, NULL), 0);
        assert_int_equal(unlink("units/web.service"), 0);
        assert_int_equal(symlink("/dev/null", "units/web.service"), 0);
        assert_int_equal(symlink("/dev/null", "units/w@2.service"), 0);

        assert_int_equal(write_one("web.service", "y", false, NULL), -EEXIST);
        _cleanup_free_ char *a = unit_dir_foreign(d, "web.service"), *b = unit_dir_foreign(d, "w@2.service");
        assert_string_equal(a, "units/web.service");
        assert_string_equal(b, "units/w@2.service");
        assert_int_equal(write_one("w@1.service", "new", true, NULL), 0);
        assert_file("units/w@.service", "new");
        assert_int_equal(remove_one("web.service"), 0);
        assert_true(exists("units/web.service"));
        assert_false(exists("units/web.service.d"));
}

static void finds_names_of_others(void **state) {
        static const struct {
                const char *name, *path;
        } cases[] = {
                {"a.service", "etc/a.service"},
                {"masked.service", "etc/masked.service"},
                {"alias.service", "etc/alias.service"},
                {"getty@7.service", "lib/getty@.service"},
                {"generated.mount", "generator/generated.mount"},
                {"here.service", "units/here.service"},
                {"dropin.service", NULL},
                {"free.service", NULL},
        };

        put_foreign("etc/a.service", "");
        put_foreign("lib/a.service", "");
        put_foreign("lib/getty@.service", "");
        put_foreign("generator/a.service", "");
        put_foreign("generator/generated.mount", "");
        put_foreign("units/here.service", "");
        assert_int_equal(mkdir("etc/dropin.service.d", 0755), 0);
        assert_int_equal(
                symlink("/dev/null", "etc/masked.service") | symlink("nowhere", "etc/alias.service"), 0);
        for (size_t i = 0; i < 2 * ELEMENTSOF(cases); i++) {
                if (i == ELEMENTSOF(cases)) // again, from lists of the directories
                        unit_dir_survey_begin(d);
                const char *expected = cases[i % ELEMENTSOF(cases)].path;
                _cleanup_free_ char *path = unit_dir_foreign(d, cases[i % ELEMENTSOF(cases)].name);

                if (expected)
                        assert_string_equal(path, expected);
                else
                        assert_null(path);
        }
        unit_dir_survey_end(d);
        assert_int_equal(write_one("free.service", "x", false, NULL), 0);
        assert_null(unit_dir_foreign(d, "free.service"));
        put_foreign("etc/free.service", "shadow");
        _cleanup_free_ char *shadow = unit_dir_foreign(d, "free.service");
        assert_string_equal(shadow, "etc/free.service");
}

// A file system that fails, or a directory that nobody may enter: systemd may see a name there that is
// hidden from us.
static void where_it_cannot_look_a_name_may_be_somebody_s(void **state) {
        assert_int_equal(rmdir("lib"), 0);
        assert_int_equal(symlink("lib", "lib"), 0); // stat() of what is in it fails, as root's too
        for (int i = 0; i < 2; i++) {
                if (i == 1)
                        unit_dir_survey_begin(d);
                _cleanup_free_ char *path = unit_dir_foreign(d, "web.service");
                assert_non_null(path);
                assert_non_null(strstr(path, "lib/web.service (which cannot be looked at"));
        }
        unit_dir_survey_end(d);
        assert_int_equal(unlink("lib"), 0);
        assert_null(unit_dir_foreign(d, "web.service")); // a directory that is not there has nothing
        assert_int_equal(mkdir("lib", 0755), 0);
}

static void adopts_what_it_wrote(void **state) {
        Hash old = spec_of("old"), new = spec_of("new"), x = spec_of("x"), found;

        assert_int_equal(write_one("w@1.service", "old", true, "argosy-01.slice"), 0);
        assert_int_equal(write_one("w@2.service", "new", true, NULL), 0);
        assert_int_equal(write_one("web.service", "x", false, "argosy-02.slice"), 0);
        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unit_dir_adopt(d, "w@1.service", true, &old, "argosy-01.slice"), 0);
        assert_int_equal(unit_dir_adopt(d, "w@2.service", true, &new, ""), 0);
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &x, "argosy-02.slice"), 0);
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &x, NULL), -EEXIST);
        assert_true(unit_dir_find(d, "web.service", &found));
        assert_true(hash_equal(&found, &x));
        assert_null(unit_dir_foreign(d, "w@1.service"));
        assert_int_equal(remove_one("w@1.service") | remove_one("w@2.service") | remove_one("web.service"),
                         0);
        assert_int_equal(count_files("units"), 0);
}

// Everything that a crash or a hand may have left: adopt says so, the next apply repairs it.
static void adopt_sees_what_is_not_as_recorded(void **state) {
        Hash x = spec_of("x");

        assert_int_equal(unit_dir_adopt(d, "absent.service", false, &x, NULL), 1);
        put_foreign("units/other.service", "y");
        assert_int_equal(unit_dir_adopt(d, "other.service", false, &x, NULL), 1);
        put_foreign("units/bare.service", "x");
        assert_int_equal(unit_dir_adopt(d, "bare.service", false, &x, NULL), 1);
        put_foreign("units/t@.service", "x");
        assert_int_equal(unit_dir_adopt(d, "t@1.service", true, &x, NULL), 1);
        assert_int_equal(write_one("absent.service", "x", false, NULL), 0);
        assert_int_equal(write_one("other.service", "x", false, NULL), 0);
        assert_int_equal(write_one("bare.service", "x", false, NULL), 0);
        assert_int_equal(write_one("t@1.service", "x", true, NULL), 0);
        assert_int_equal(unit_dir_check(d, "absent.service") | unit_dir_check(d, "other.service"), 0);
        assert_int_equal(unit_dir_check(d, "bare.service") | unit_dir_check(d, "t@1.service"), 0);
        assert_file("units/t@.service.d/50-argosy.conf", "[Unit]\nAfter=argosy.target\n");
}

static void check_sees_changes_of_others(void **state) {
        assert_int_equal(write_one("a.service", "x", false, NULL), 0);
        assert_int_equal(write_one("w@1.service", "x", true, NULL), 0);
        assert_int_equal(write_one("w@2.service", "x", true, NULL), 0);
        assert_int_equal(unit_dir_check(d, "a.service"), 0);
        put_foreign("units/a.service", "edited");
        put_foreign("units/w@.service", "edited");
        assert_int_equal(unit_dir_check(d, "a.service"), 1);
        assert_int_equal(unit_dir_check(d, "w@1.service"), 1);
        assert_int_equal(unit_dir_check(d, "w@2.service"), 1);
        assert_int_equal(unit_dir_check(d, "none.service"), -ENOENT);
        assert_int_equal(write_one("a.service", "x", false, NULL), 0);
        assert_int_equal(write_one("w@1.service", "x", true, NULL), 0);
        assert_file("units/a.service", "x");
        assert_file("units/w@.service", "x");
}

RUN_TESTS(T(nobody_elses_file_is_touched), T(a_mask_over_our_file_is_respected), T(finds_names_of_others),
          T(where_it_cannot_look_a_name_may_be_somebody_s), T(adopts_what_it_wrote),
          T(adopt_sees_what_is_not_as_recorded), T(check_sees_changes_of_others))
