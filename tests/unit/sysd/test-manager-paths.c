// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "macro.h"
#include "manager-paths.h"

static void assert_dirs(char **found, const char *const *expected) {
        size_t i;

        for (i = 0; expected[i]; i++) {
                assert_non_null(found[i]);
                assert_string_equal(found[i], expected[i]);
        }
        assert_null(found[i]);
}

static void the_system_manager_is_under_run(void **state) {
        _cleanup_(manager_paths_done) ManagerPaths p;

        assert_int_equal(manager_paths_init_system(&p), 0);
        assert_string_equal(p.socket, "/run/systemd/private");
        assert_string_equal(p.unit_dir, "/run/systemd/system");
        assert_string_equal(p.search_dirs[0], "/etc/systemd/system.control");
}

// As `systemd-analyze --user unit-paths` of systemd 252 prints them for this environment.
static void a_users_manager_is_under_his_runtime_directory(void **state) {
        static const char *const expected[] = {"/c/systemd/user.control",
                                               "/r/systemd/user.control",
                                               "/r/systemd/transient",
                                               "/r/systemd/generator.early",
                                               "/c/systemd/user",
                                               "/opt/xdg/systemd/user",
                                               "/etc/systemd/user",
                                               "/r/systemd/user",
                                               "/run/systemd/user",
                                               "/r/systemd/generator",
                                               "/d/systemd/user",
                                               "/opt/share/systemd/user",
                                               "/opt/more/systemd/user",
                                               "/usr/local/lib/systemd/user",
                                               "/usr/local/share/systemd/user",
                                               "/usr/lib/systemd/user",
                                               "/usr/share/systemd/user",
                                               "/r/systemd/generator.late",
                                               NULL};
        char *const environment[] = {"XDG_RUNTIME_DIR=/r",
                                     "XDG_CONFIG_HOME=/c",
                                     "XDG_DATA_HOME=/d",
                                     "XDG_CONFIG_DIRS=/opt/xdg",
                                     "XDG_DATA_DIRS=/opt/share:/opt/more",
                                     NULL};
        _cleanup_(manager_paths_done) ManagerPaths p;
        _cleanup_(xdg_done) Xdg x;

        assert_int_equal(xdg_init(&x, environment, NULL), 0);
        assert_int_equal(manager_paths_init_user(&p, &x), 0);
        assert_string_equal(p.socket, "/r/systemd/private");
        assert_string_equal(p.unit_dir, "/r/systemd/user");
        assert_dirs(p.search_dirs, expected);
}

static void no_directory_is_searched_twice(void **state) {
        static const char *const expected[] = {"/home/ann/.config/systemd/user.control",
                                               "/run/user/7/systemd/user.control",
                                               "/run/user/7/systemd/transient",
                                               "/run/user/7/systemd/generator.early",
                                               "/home/ann/.config/systemd/user",
                                               "/etc/xdg/systemd/user",
                                               "/etc/systemd/user",
                                               "/run/user/7/systemd/user",
                                               "/run/systemd/user",
                                               "/run/user/7/systemd/generator",
                                               "/home/ann/.local/share/systemd/user",
                                               "/usr/local/share/systemd/user",
                                               "/usr/share/systemd/user",
                                               "/usr/local/lib/systemd/user",
                                               "/usr/lib/systemd/user",
                                               "/run/user/7/systemd/generator.late",
                                               NULL};
        char *const environment[] = {"XDG_RUNTIME_DIR=/run/user/7", NULL};
        _cleanup_(manager_paths_done) ManagerPaths p;
        _cleanup_(xdg_done) Xdg x;

        assert_int_equal(xdg_init(&x, environment, "/home/ann"), 0);
        assert_int_equal(manager_paths_init_user(&p, &x), 0);
        assert_dirs(p.search_dirs, expected);
}

static void without_home_or_runtime_directory_there_is_no_user_manager(void **state) {
        char *const no_home[] = {"XDG_RUNTIME_DIR=/r", NULL}, *const no_runtime[] = {"HOME=/h", NULL};
        ManagerPaths p;
        Xdg x;

        assert_int_equal(xdg_init(&x, no_home, NULL), 0);
        assert_int_equal(manager_paths_init_user(&p, &x), -ENOENT);
        xdg_done(&x);
        assert_int_equal(xdg_init(&x, no_runtime, NULL), 0);
        assert_int_equal(manager_paths_init_user(&p, &x), -ENOENT);
        xdg_done(&x);
}

RUN_TESTS(
        cmocka_unit_test(the_system_manager_is_under_run),
        cmocka_unit_test(a_users_manager_is_under_his_runtime_directory),
        cmocka_unit_test(no_directory_is_searched_twice),
        cmocka_unit_test(without_home_or_runtime_directory_there_is_no_user_manager)
)
