// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What fleet has left behind becomes ours, file and links; what somebody else has does not.
#include "printed.h"
#include "unit-dir-words.h"

static void put_link(const char *path, const char *target) {
        assert_int_equal(symlink(target, path), 0);
}

static void assert_stands_in_the_way(const char *name, const char *path) {
        _cleanup_free_ char *foreign = unit_dir_foreign(d, name);

        assert_non_null(foreign);
        assert_string_equal(foreign, path);
}

static void take_over(void) {
        assert_int_equal(unit_dir_take_from(d, "/run/fleet/units"), 0);
}

static void what_fleet_left_behind_is_taken_with_its_links(void **state) {
        assert_int_equal(mkdir("units/multi-user.target.wants", 0755) | mkdir("units/a.service.d", 0755), 0);
        put_link("units/web@1.service", "/run/fleet/units/web@1.service");
        put_link("units/multi-user.target.wants/web@1.service", "/run/fleet/units/web@1.service");
        put_link("units/multi-user.target.wants/other.service", "/run/fleet/units/other.service");
        put_link("units/www.service", "/run/fleet/units/web@1.service");
        assert_int_equal(write_one("web@1.service", "x", true, NULL), -EEXIST);
        assert_false(unit_dir_is_left_behind(d, "web@1.service"));
        take_over();
        assert_true(unit_dir_is_left_behind(d, "web@1.service"));
        assert_null(unit_dir_foreign(d, "web@1.service"));
        assert_false(unit_dir_has_content(d, "web@1.service", &(Hash){}));
        assert_int_equal(write_one("web@1.service", "x", true, NULL), 0);
        assert_false(exists("units/web@1.service"));
        assert_false(exists("units/multi-user.target.wants/web@1.service"));
        assert_false(exists("units/www.service"));
        assert_true(exists("units/multi-user.target.wants/other.service"));
        assert_false(unit_dir_is_left_behind(d, "web@1.service"));
        assert_file("units/web@.service", "x");
        put_link("units/plain.service", "/run/fleet/units/plain.service");
        assert_int_equal(write_one("plain.service", "x", false, NULL), 0);
        assert_file("units/plain.service", "x");
}

// All that is judged is judged before anything is touched.
static void what_is_refused_keeps_all_its_links(void **state) {
        static const char content[] = "[Install]\nAlias=www.service\n";
        static const char *const names[] = {"vendor.service", "web@1.service", "alias.service"};

        take_over();
        assert_int_equal(mkdir("units/multi-user.target.wants", 0755), 0);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *link = str_printf("units/%s", names[i]),
                                    *wants = str_printf("units/multi-user.target.wants/%s", names[i]),
                                    *target = str_printf("/run/fleet/units/%s", names[i]);

                put_link(link, target);
                put_link(wants, target);
        }
        put_foreign("etc/vendor.service", "x");
        put_foreign("units/web@.service", "x");
        put_foreign("units/www.service", "x");
        assert_stands_in_the_way("vendor.service", "etc/vendor.service");
        assert_stands_in_the_way("web@1.service", "units/web@.service");
        assert_int_equal(write_one("web@1.service", "y", true, NULL), -EEXIST);
        assert_int_equal(write_one("alias.service", content, false, NULL), -EEXIST);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                assert_true(exists(printed("units/multi-user.target.wants/%s", names[i])));
                assert_true(unit_dir_is_left_behind(d, names[i]));
                assert_false(unit_dir_find(d, names[i], NULL));
        }
        assert_false(exists("units/alias.service.d") || exists("units/web@.service.d"));
        // The alias that fleet made goes with the unit.
        assert_int_equal(unlink("units/www.service"), 0);
        put_link("units/www.service", "/run/fleet/units/alias.service");
        assert_int_equal(write_one("alias.service", content, false, NULL), 0);
        assert_file("units/alias.service", content);
        assert_link("units/www.service", "alias.service");
}

static void what_did_not_become_ours_is_left_as_it_is(void **state) {
        static const char content[] = "x";
        Hash spec = hash_of(content, strlen(content));

        take_over();
        put_link("units/a.service", "/run/fleet/units/a.service");
        put_foreign("units/b.service", "y");
        assert_int_equal(mkdir("units/a.service.d", 0755), 0);
        put_foreign("units/a.service.d/50-argosy.conf", "[Unit]\n");
        assert_int_equal(write_one("web@1.service", content, true, NULL), 0);
        put_link("units/web@2.service", "/run/fleet/units/web@2.service");
        assert_int_equal(unit_dir_adopt(d, "a.service", false, &spec, NULL), 1);
        assert_int_equal(unit_dir_adopt(d, "b.service", false, &spec, NULL), 1);
        assert_int_equal(unit_dir_adopt(d, "web@2.service", true, &spec, NULL), 1);
        assert_true(unit_dir_has_content(d, "web@1.service", &spec));
        assert_false(unit_dir_has_content(d, "a.service", &spec) ||
                     unit_dir_has_content(d, "b.service", &spec) ||
                     unit_dir_has_content(d, "web@2.service", &spec) ||
                     unit_dir_has_content(d, "none.service", &spec));
        unit_dir_disown(d, "a.service", &spec);
        unit_dir_disown(d, "b.service", &spec);
        unit_dir_disown(d, "web@2.service", &spec);
        assert_false(unit_dir_find(d, "a.service", NULL) || exists("units/a.service.d"));
        assert_file("units/b.service", "y");
        assert_file("units/web@.service", content);
        assert_true(unit_dir_is_left_behind(d, "a.service") && unit_dir_is_left_behind(d, "web@2.service"));
        put_foreign("units/own@.service", "y"); // not the one that was about to be written
        assert_int_equal(unit_dir_adopt(d, "own@1.service", true, &spec, NULL), 1);
        unit_dir_disown(d, "own@1.service", &spec);
        assert_file("units/own@.service", "y");
        unit_dir_disown(d, "web@1.service", &spec);
        assert_false(exists("units/web@.service") || exists("units/web@.service.d"));
}

static void what_somebody_else_has_is_not_taken(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service",
                                            "d.service", "e.service", "f.service"};

        put_foreign("units/a.service", "x");
        put_link("units/b.service", "/run/fleet/units/c.service");
        put_link("units/c.service", "/run/fleet/units-of-mine/c.service");
        put_link("units/d.service", "/dev/null");
        put_foreign("etc/e.service", "x");
        take_over();
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_false(unit_dir_is_left_behind(d, names[i]));
        for (size_t i = 0; i < 4; i++)
                assert_int_equal(write_one(names[i], "y", false, NULL), -EEXIST);
        assert_true(exists("units/a.service") && exists("units/b.service") && exists("units/c.service") &&
                    exists("units/d.service") && exists("etc/e.service"));
}

RUN_TESTS(T(what_fleet_left_behind_is_taken_with_its_links), T(what_somebody_else_has_is_not_taken),
          T(what_is_refused_keeps_all_its_links), T(what_did_not_become_ours_is_left_as_it_is))
