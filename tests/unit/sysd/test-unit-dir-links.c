// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The links that [Install] asks for.
#include "unit-dir-words.h"

static int write_enabled(const char *name, const char *content, bool from_template, bool enable) {
        UnitDirItem item = item_of(name, content, from_template, NULL);

        item.enable = enable;
        unit_dir_apply(d, &item, 1);
        buf_done(&item.touched);
        return item.error;
}

static const char wanted[] = "[Service]\nExecStart=/bin/true\n"
                             "[Install]\nWantedBy=app.target multi-user.target\nRequiredBy=db.service\n"
                             "Alias=www.service\nAlso=web.socket\n";

static void links_of_install_come_and_go_with_the_file(void **state) {
        put_foreign("lib/multi-user.target", "[Unit]\n");
        assert_int_equal(write_enabled("web.service", wanted, false, false), 0);
        assert_link("units/app.target.wants/web.service", "../web.service");
        assert_link("units/db.service.requires/web.service", "../web.service");
        assert_link("units/www.service", "web.service");
        assert_false(exists("units/multi-user.target.wants")); // of the system's: only when it is to run
        assert_false(unit_dir_is_enabled(d, "web.service") || exists("units/web.socket"));
        assert_int_equal(remove_one("web.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

static void units_of_the_system_get_links_to_what_is_enabled_only(void **state) {
        put_foreign("lib/multi-user.target", "[Unit]\n");
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_link("units/multi-user.target.wants/web.service", "../web.service");
        assert_true(unit_dir_is_enabled(d, "web.service"));
        assert_int_equal(write_enabled("web.service", wanted, false, false), 0);
        assert_false(exists("units/multi-user.target.wants"));
        assert_link("units/app.target.wants/web.service", "../web.service");
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_link("units/multi-user.target.wants/web.service", "../web.service");
        assert_int_equal(remove_one("web.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

static void a_new_content_takes_the_old_links_away(void **state) {
        static const char other[] = "[Install]\nWantedBy=app.target new.target\n";

        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_int_equal(write_enabled("web.service", other, false, true), 0);
        assert_link("units/app.target.wants/web.service", "../web.service");
        assert_link("units/new.target.wants/web.service", "../web.service");
        assert_false(exists("units/db.service.requires") || exists("units/www.service") ||
                     exists("units/multi-user.target.wants"));
        assert_int_equal(write_one("web.service", "x", false, NULL), 0);
        assert_int_equal(count_files("units"), 2); // the file and its drop-in
}

static void who_is_touched_is_told(void **state) {
        UnitDirItem item = item_of("web.service", wanted, false, NULL);

        item.enable = true;
        unit_dir_apply(d, &item, 1);
        assert_int_equal(item.touched.len,
                         strlen("app.target") + strlen("multi-user.target") + strlen("db.service") + 3);
        assert_string_equal((char *) item.touched.data, "app.target");
        buf_done(&item.touched);
}

static void instances_have_links_of_their_own(void **state) {
        static const char old[] = "[Install]\nWantedBy=app-%i.target all.target\n", new[] = "[Service]\n";

        assert_int_equal(write_enabled("w@1.service", old, true, true), 0);
        assert_int_equal(write_enabled("w@2.service", old, true, true), 0);
        assert_link("units/app-2.target.wants/w@2.service", "../w@2.service");
        assert_link("units/all.target.wants/w@1.service", "../w@1.service");
        assert_int_equal(write_enabled("w@1.service", new, true, true),
                         0); // its sister keeps the old revision
        assert_false(exists("units/app-1.target.wants") || exists("units/all.target.wants/w@1.service"));
        assert_link("units/app-2.target.wants/w@2.service", "../w@2.service");
        assert_link("units/all.target.wants/w@2.service", "../w@2.service");
        assert_int_equal(remove_one("w@1.service") | remove_one("w@2.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

static void links_of_others_are_left_alone(void **state) {
        assert_int_equal(write_one("some.service", "x", false, NULL), 0);
        assert_int_equal(mkdir("units/app.target.wants", 0755) | mkdir("units/db.service.requires", 0755),
                         0);
        assert_int_equal(symlink("/etc/web.service", "units/app.target.wants/web.service"), 0);
        assert_int_equal(symlink("../some.service", "units/db.service.requires/some.service"), 0);
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_link("units/app.target.wants/web.service", "/etc/web.service");
        assert_int_equal(remove_one("web.service"), 0);
        assert_link("units/app.target.wants/web.service", "/etc/web.service");
        assert_link("units/db.service.requires/some.service", "../some.service");
        assert_false(exists("units/www.service") || exists("units/multi-user.target.wants"));
}

static void an_alias_that_is_taken_refuses_the_unit(void **state) {
        _cleanup_free_ char *path = NULL, *here = NULL;

        assert_int_equal(write_one("www.service", "x", false, NULL), 0);
        assert_int_equal(write_enabled("web.service", wanted, false, true), -EEXIST);
        assert_file("units/www.service", "x");
        assert_false(exists("units/web.service") || exists("units/app.target.wants"));
        assert_false(unit_dir_find(d, "web.service", NULL));
        here = unit_dir_foreign_alias(d, "web.service", wanted, strlen(wanted));
        assert_string_equal(here, "units/www.service");
        assert_int_equal(remove_one("www.service"), 0);
        assert_null(unit_dir_foreign_alias(d, "web.service", wanted, strlen(wanted)));
        put_foreign("lib/www.service", "[Service]\n");
        path = unit_dir_foreign_alias(d, "web.service", wanted, strlen(wanted));
        assert_string_equal(path, "lib/www.service");
}

static void the_name_of_an_alias_is_not_free(void **state) {
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_int_equal(write_one("www.service", "x", false, NULL), -EEXIST);
        assert_link("units/www.service", "web.service");
}

static void links_are_found_again_by_the_next_run(void **state) {
        Hash spec = spec_of(wanted);

        put_foreign("lib/multi-user.target", "[Unit]\n");
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &spec, NULL), 0);
        assert_true(unit_dir_is_enabled(d, "web.service"));

        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unlink("units/multi-user.target.wants/web.service"), 0);
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &spec, NULL), 0);
        assert_false(unit_dir_is_enabled(d, "web.service"));

        d = unit_dir_free(d);
        open_dir();
        assert_int_equal(unlink("units/www.service"), 0);
        assert_int_equal(unit_dir_adopt(d, "web.service", false, &spec, NULL), 1);
        assert_int_equal(write_enabled("web.service", wanted, false, true), 0);
        assert_link("units/www.service", "web.service");
        assert_int_equal(remove_one("web.service"), 0);
        assert_int_equal(count_files("units"), 0);
}

// Each new look at the directory costs systemd much where there are many files.
static void a_link_in_a_directory_that_exists_costs_no_new_look(void **state) {
        static const char text[] = "[Install]\nWantedBy=multi-user.target\n";

        put_foreign("lib/multi-user.target", "[Unit]\n");
        assert_int_equal(write_enabled("a.service", text, false, true), 0);
        assert_int_equal(write_enabled("b.service", text, false, false), 0);
        int64_t before = mtime_us();
        assert_int_equal(write_enabled("b.service", text, false, true), 0);
        assert_link("units/multi-user.target.wants/b.service", "../b.service");
        assert_int_equal(mtime_us(), before);
}

RUN_TESTS(T(links_of_install_come_and_go_with_the_file),
          T(units_of_the_system_get_links_to_what_is_enabled_only),
          T(a_new_content_takes_the_old_links_away), T(who_is_touched_is_told),
          T(instances_have_links_of_their_own), T(links_of_others_are_left_alone),
          T(an_alias_that_is_taken_refuses_the_unit), T(the_name_of_an_alias_is_not_free),
          T(links_are_found_again_by_the_next_run), T(a_link_in_a_directory_that_exists_costs_no_new_look))
