// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Command lines before a daemon hears of them: help, mistakes, and where the daemon is.
#include <sys/stat.h>
#include <unistd.h>

#include "command-words.h"
#include "messages.h"

// ---- roles and pools

static void without_a_daemon_the_path_is_named(void **state) {
        _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", "list-units"),
                                  b = run_at("/nonexistent/sock", "start a"),
                                  v = run_at("/nonexistent/sock", "version");

        assert_warns(o, 1,
                     "argosyctl: cannot reach argosyd at /nonexistent/sock: No such file or directory; is "
                     "argosyd.service running?\n");
        assert_warns(b, 1, o.err);
        assert_prints(v, 0, "argosyctl " ARGOSY_VERSION "\n");
}

static void usage_errors_exit_2(void **state) {
        static const char *const lines[] = {
                "", "frobnicate", "start", "start a --follow", "cluster recover", "help frob"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", lines[i]);

                assert_int_equal(o.code, 2);
                assert_true(str_has_prefix(o.err, "argosyctl: "));
                assert_string_equal(o.out, "");
        }
}

static void a_family_of_verbs_has_help_of_its_own(void **state) {
        static const char *const lines[] = {"help role", "role --help"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", lines[i]);

                assert_prints_also(o, 0, "role set ROLE");
                assert_non_null(strstr(o.out, "role delete ROLE"));
                assert_null(strstr(o.out, "pool set"));
        }
}

static void help_fits_a_terminal(void **state) {
        static const char *const lines[] = {"help", "help cluster", "help restart", "help manager attach",
                                            "help top"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", lines[i]);

                for (const char *line = o.out, *end; (end = strchr(line, '\n')); line = end + 1)
                        if (end - line > 80)
                                fail_msg("%s: %.*s", lines[i], (int) (end - line), line);
        }
}

static void bad_names_never_reach_the_daemon(void **state) {
        _cleanup_outcome_ Outcome o = run_at("/nonexistent/sock", "start we$b"),
                                  p = run_at("/nonexistent/sock", "start ./nothere.service");

        assert_warns_of(o, 2, "'we$b' is not a unit name");
        assert_warns(p, 1, "argosyctl: there is no ./nothere.service\n");
}

// ---- the argosyd of a user

static void gives_a_token(FakeDaemon *d) {
        Argosy__Response__Token token = MESSAGE_OF(response__token, .token = (char *) "secret",
                                                   .address = (char *) "10.0.0.1", .port = 4242);
        _cleanup_request_ Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN);
        fake_reply(d, A_RESPONSE(TOKEN, token, &token, .final = true));
}

// Its socket, where XDG_RUNTIME_DIR says; the one of the machine's is set, too, and is nowhere.
static Outcome run_as_user(FakeScript script, const char *line) {
        char dir[] = "/tmp/argosy-test-XXXXXX", below[32], path[64];
        FakeDaemon d;

        assert_non_null(mkdtemp(dir));
        snprintf(below, sizeof(below), "%s/argosy", dir);
        snprintf(path, sizeof(path), "%s/argosy.sock", below);
        assert_int_equal(mkdir(below, 0700), 0);
        fake_daemon_start(&d, script);
        assert_int_equal(symlink(d.path, path), 0);
        setenv("XDG_RUNTIME_DIR", dir, 1);
        Outcome o = run_at("/nonexistent", line);
        fake_daemon_stop(&d);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(below), 0);
        assert_int_equal(rmdir(dir), 0);
        return o;
}

static void user_means_the_socket_in_the_runtime_directory(void **state) {
        _cleanup_outcome_ Outcome o = run_as_user(gives_a_token, "--user cluster token --json=short");

        assert_string_equal(o.err, "");
        assert_string_equal(
                o.out, "{\"token\":\"secret\",\"expires_us\":0,\"address\":\"10.0.0.1\",\"port\":4242}\n");
        assert_int_equal(o.code, 0);
}

static void user_without_a_runtime_directory_says_what_is_missing(void **state) {
        _cleanup_outcome_ Outcome unset = {}, none = {};

        setenv("XDG_RUNTIME_DIR", "relative", 1);
        unset = run_at("/nonexistent", "--user list-units");
        assert_warns_of(unset, 1, "XDG_RUNTIME_DIR");
        setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
        none = run_at("/nonexistent", "--user list-units");
        assert_warns_of(none, 1, "/nonexistent/argosy/argosy.sock");
        assert_non_null(strstr(none.err, "systemctl --user"));
}

RUN_TESTS(
        cmocka_unit_test(user_means_the_socket_in_the_runtime_directory),
        cmocka_unit_test(user_without_a_runtime_directory_says_what_is_missing),
        cmocka_unit_test(without_a_daemon_the_path_is_named),
        cmocka_unit_test(usage_errors_exit_2),
        cmocka_unit_test(a_family_of_verbs_has_help_of_its_own),
        cmocka_unit_test(help_fits_a_terminal),
        cmocka_unit_test(bad_names_never_reach_the_daemon)
)
