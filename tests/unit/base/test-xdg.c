// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "macro.h"
#include "xdg.h"

#define ENVIRONMENT(...) ((char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static Xdg xdg_of(char *const *environment, const char *home) {
        Xdg x;

        assert_int_equal(xdg_init(&x, environment, home), 0);
        return x;
}

static void assert_dirs(char **dirs, const char *a, const char *b) {
        assert_string_equal(dirs[0], a);
        if (b)
                assert_string_equal(dirs[1], b);
        assert_null(dirs[b ? 2 : 1]);
}

static void without_variables_the_defaults_lie_in_the_home_directory(void **state) {
        _cleanup_(xdg_done) Xdg x = xdg_of(ENVIRONMENT("HOME=/home/ann"), "/other");

        assert_string_equal(x.home, "/home/ann");
        assert_string_equal(x.config_home, "/home/ann/.config");
        assert_string_equal(x.data_home, "/home/ann/.local/share");
        assert_string_equal(x.state_home, "/home/ann/.local/state");
        assert_null(x.runtime_dir);
        assert_dirs(x.config_dirs, "/etc/xdg", NULL);
        assert_dirs(x.data_dirs, "/usr/local/share", "/usr/share");
}

static void variables_win(void **state) {
        _cleanup_(xdg_done) Xdg x =
                xdg_of(ENVIRONMENT("HOME=/home/ann", "XDG_RUNTIME_DIR=/run/user/7/", "XDG_CONFIG_HOME=/c",
                                   "XDG_DATA_HOME=/d//", "XDG_STATE_HOME=/s", "XDG_CONFIG_DIRS=/x/:/y",
                                   "XDG_DATA_DIRS=/z"),
                       NULL);

        assert_string_equal(x.runtime_dir, "/run/user/7");
        assert_string_equal(x.config_home, "/c");
        assert_string_equal(x.data_home, "/d");
        assert_string_equal(x.state_home, "/s");
        assert_dirs(x.config_dirs, "/x", "/y");
        assert_dirs(x.data_dirs, "/z", NULL);
}

static void relative_and_empty_values_are_ignored(void **state) {
        _cleanup_(xdg_done) Xdg x =
                xdg_of(ENVIRONMENT("HOME=ann", "XDG_RUNTIME_DIR=run", "XDG_CONFIG_HOME=.config",
                                   "XDG_DATA_HOME=", "XDG_STATE_HOME=s", "XDG_CONFIG_DIRS=x::/y:z/",
                                   "XDG_DATA_DIRS=:q"),
                       "/home/passwd");

        assert_string_equal(x.home, "/home/passwd");
        assert_null(x.runtime_dir);
        assert_string_equal(x.config_home, "/home/passwd/.config");
        assert_string_equal(x.data_home, "/home/passwd/.local/share");
        assert_string_equal(x.state_home, "/home/passwd/.local/state");
        assert_dirs(x.config_dirs, "/y", NULL);
        assert_dirs(x.data_dirs, "/usr/local/share", "/usr/share");
}

static void a_user_without_a_home_has_only_what_the_variables_name(void **state) {
        _cleanup_(xdg_done) Xdg x =
                xdg_of(ENVIRONMENT("XDG_STATE_HOME=/s", "XDG_CONFIG", "XDG_CONFIG_HOMES=/no"), NULL);

        assert_null(x.home);
        assert_null(x.config_home);
        assert_null(x.data_home);
        assert_string_equal(x.state_home, "/s");
        xdg_done(&x);
        x = xdg_of(ENVIRONMENT(), "relative");
        assert_null(x.home);
        assert_null(x.state_home);
}

static void the_root_directory_can_be_a_home(void **state) {
        _cleanup_(xdg_done) Xdg x = xdg_of(ENVIRONMENT("HOME=/", "XDG_CONFIG_DIRS=//"), NULL);

        assert_string_equal(x.config_home, "/.config");
        assert_dirs(x.config_dirs, "/", NULL);
}

RUN_TESTS(
        cmocka_unit_test(without_variables_the_defaults_lie_in_the_home_directory),
        cmocka_unit_test(variables_win),
        cmocka_unit_test(relative_and_empty_values_are_ignored),
        cmocka_unit_test(a_user_without_a_home_has_only_what_the_variables_name),
        cmocka_unit_test(the_root_directory_can_be_a_home)
)
