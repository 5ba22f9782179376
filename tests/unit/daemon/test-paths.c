// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tmpdir.h"

#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"
#include "port.h"
#include "str.h"

static void the_machine_s_are_in_var_run_and_etc(void **state) {
        static const char *const config[] = {"/usr/lib/argosy", "/usr/local/lib/argosy", "/run/argosy",
                                             "/etc/argosy"};
        char *const environment[] = {"XDG_RUNTIME_DIR=/r", "XDG_STATE_HOME=/s", NULL}; // counts for nothing
        _cleanup_free_ char *why = NULL;
        _cleanup_(paths_done) Paths p;

        assert_int_equal(paths_init(&p, false, environment, "/home/ann", &why), 0);
        assert_false(p.user);
        assert_string_equal(p.state_dir, "/var/lib/argosy");
        assert_string_equal(p.runtime_dir, "/run/argosy");
        for (size_t i = 0; i < ELEMENTSOF(config); i++)
                assert_string_equal(p.config_dirs[i], config[i]);
        assert_null(p.config_dirs[ELEMENTSOF(config)]);
        assert_string_equal(p.manager.unit_dir, "/run/systemd/system");
        assert_int_equal(p.socket_mode, 0660);
}

static void a_user_s_are_xdg_s(void **state) {
        char *const environment[] = {"HOME=/home/ann", "XDG_RUNTIME_DIR=/run/user/7",
                                     "XDG_CONFIG_DIRS=/etc/xdg:/opt/xdg", NULL};
        static const char *const config[] = {"/opt/xdg/argosy", "/etc/xdg/argosy", "/run/user/7/argosy",
                                             "/home/ann/.config/argosy"};
        _cleanup_free_ char *why = NULL;
        _cleanup_(paths_done) Paths p;

        assert_int_equal(paths_init(&p, true, environment, NULL, &why), 0);
        assert_true(p.user);
        assert_string_equal(p.state_dir, "/home/ann/.local/state/argosy");
        assert_string_equal(p.runtime_dir, "/run/user/7/argosy");
        for (size_t i = 0; i < ELEMENTSOF(config); i++)
                assert_string_equal(p.config_dirs[i], config[i]);
        assert_null(p.config_dirs[ELEMENTSOF(config)]);
        assert_string_equal(p.manager.socket, "/run/user/7/systemd/private");
        assert_string_equal(p.manager.unit_dir, "/run/user/7/systemd/user");
        assert_int_equal(p.socket_mode, 0600);
        assert_int_equal(p.runtime_mode, 0700);
}

static void who_has_no_directories_is_told_what_to_set(void **state) {
        char *const no_runtime[] = {"HOME=/home/ann", "XDG_RUNTIME_DIR=relative", NULL},
                    *const no_home[] = {"XDG_RUNTIME_DIR=/r", "XDG_STATE_HOME=/s", NULL};
        char *why = NULL;
        _cleanup_(paths_done) Paths p;

        assert_int_equal(paths_init(&p, true, no_runtime, NULL, &why), -ENOENT);
        assert_non_null(strstr(why, "XDG_RUNTIME_DIR"));
        free(TAKE_PTR(why));
        assert_int_equal(paths_init(&p, true, no_home, NULL, &why), -ENOENT);
        assert_non_null(strstr(why, "HOME"));
        free(TAKE_PTR(why));
        assert_int_equal(paths_init(&p, true, no_home, "/home/ann", &why), 0); // the password file knows
        assert_string_equal(p.state_dir, "/s/argosy");
        assert_string_equal(p.config_dirs[2], "/home/ann/.config/argosy");
}

static void one_may_be_replaced(void **state) {
        _cleanup_free_ char *why = NULL;
        _cleanup_(paths_done) Paths p;

        assert_int_equal(paths_init(&p, false, NULL, NULL, &why), 0);
        assert_int_equal(paths_set(&p.state_dir, "/elsewhere"), 0);
        assert_string_equal(p.state_dir, "/elsewhere");
}

static mode_t mode_of(const char *dir, const char *below) {
        _cleanup_free_ char *path = str_printf("%s%s", dir, below);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        assert_true(S_ISDIR(st.st_mode));
        return st.st_mode & 07777;
}

static void missing_directories_are_made_for_the_user_alone(void **state) {
        _cleanup_free_ char *home = str_printf("HOME=%s", (char *) *state),
                            *run = str_printf("XDG_RUNTIME_DIR=%s/run", (char *) *state), *why = NULL;
        char *const environment[] = {home, run, NULL};
        _cleanup_(paths_done) Paths p;

        assert_int_equal(paths_init(&p, true, environment, NULL, &why), 0);
        assert_int_equal(paths_make(&p, &why), 0);
        assert_int_equal(mode_of(*state, "/.local"), 0700);
        assert_int_equal(mode_of(*state, "/.local/state/argosy"), 0700);
        assert_int_equal(mode_of(*state, "/run/argosy"), 0700);
        assert_int_equal(paths_make(&p, &why), 0); // again
}

static void what_cannot_be_made_is_named(void **state) {
        _cleanup_free_ char *file = str_printf("%s/file", (char *) *state), *why = NULL;
        _cleanup_(paths_done) Paths p;

        assert_int_equal(file_replace(AT_FDCWD, file, "", 0, 0644, 0), 0);
        assert_int_equal(paths_init(&p, false, NULL, NULL, &why), 0);
        free(p.runtime_dir);
        p.runtime_dir = str_printf("%s/below", file);
        assert_int_equal(paths_make(&p, &why), -ENOTDIR);
        assert_non_null(strstr(why, p.runtime_dir));
}

static void a_runtime_directory_of_somebody_else_is_refused(void **state) {
        _cleanup_free_ char *run = str_printf("%s/run", (char *) *state), *why = NULL;
        _cleanup_(paths_done) Paths p;

        if (geteuid() != 0)
                skip(); // only root can give a directory away
        assert_int_equal(paths_init(&p, false, NULL, NULL, &why), 0);
        p.user = true;
        assert_int_equal(mkdir(run, 0755), 0);
        assert_int_equal(chown(run, 12345, (gid_t) -1), 0);
        assert_int_equal(paths_set(&p.runtime_dir, run), 0);
        assert_int_equal(paths_make(&p, &why), -EPERM);
        assert_non_null(strstr(why, "another user"));
}

static void a_port_that_nobody_asked_for_is_open_only_for_a_reason(void **state) {
        assert_false(port_is_wanted(&(PortReasons){.alone = true}));
        assert_true(port_is_wanted(&(PortReasons){.alone = true, .configured = true}));
        assert_true(port_is_wanted(&(PortReasons){.alone = true, .has_tokens = true}));
        assert_true(port_is_wanted(&(PortReasons){.alone = false}));
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, tmpdir_make, tmpdir_drop)

RUN_TESTS(
        cmocka_unit_test(the_machine_s_are_in_var_run_and_etc),
        cmocka_unit_test(a_user_s_are_xdg_s),
        cmocka_unit_test(who_has_no_directories_is_told_what_to_set),
        cmocka_unit_test(one_may_be_replaced),
        IN_DIR(missing_directories_are_made_for_the_user_alone),
        IN_DIR(what_cannot_be_made_is_named),
        IN_DIR(a_runtime_directory_of_somebody_else_is_refused),
        cmocka_unit_test(a_port_that_nobody_asked_for_is_open_only_for_a_reason)
)
