// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a program in the sandbox sees, may, and leaves behind.

#include <errno.h>
#include <unistd.h>

#include "test.h"

#include "sandboxed-command.h"
#include "str.h"

enum { LONG_MS = 30000 };

static SandboxedCommand *begin(const char *const *args, const SandboxedFile *files, size_t n) {
        SandboxedCommand *c;

        assert_int_equal(sandboxed_command_start(&(SandboxedConfig){args, files, n}, &c), 0);
        return c;
}

static char *output_of(const char *const *args, const SandboxedFile *files, size_t n) {
        SandboxedCommand *c = begin(args, files, n);
        Buf output = {};

        assert_int_equal(sandboxed_command_wait(c, LONG_MS, &output), 0);
        sandboxed_command_free(c);
        return buf_take_string(&output);
}

static void it_finds_its_files_and_leaves_none(void **state) {
        static const SandboxedFile files[] = {{"a.service", "one\n", 4}, {"b@.service", "two\n", 4}};
        static const char *const args[] = {"cat", "./a.service", "b@.service", "missing", NULL};
        _cleanup_free_ char *dir = NULL;
        SandboxedCommand *c = begin(args, files, ELEMENTSOF(files));
        _cleanup_buf_ Buf output = {};

        dir = strdup(sandboxed_command_dir(c));
        assert_int_equal(access(dir, F_OK), 0);
        assert_int_equal(sandboxed_command_wait(c, LONG_MS, &output), 0);
        assert_true(output.len > 8 && memcmp(output.data, "one\ntwo\n", 8) == 0); // and cat's complaint
        sandboxed_command_free(c);
        assert_int_equal(access(dir, F_OK), -1);
}

static void it_is_nobody_if_we_are_root(void **state) {
        static const char *const args[] = {"id", "-u", NULL};
        _cleanup_free_ char *uid = output_of(args, NULL, 0),
                            *expected = str_printf("%u\n", getuid() == 0 ? 65534 : getuid());

        assert_string_equal(uid, expected);
}

static void it_may_have_a_home_that_goes_with_it(void **state) {
        static const char *const args[] = {
                "sh", "-c", "mkdir $XDG_RUNTIME_DIR/d && touch $HOME/d/f && echo $HOME", NULL};
        _cleanup_free_ char *home = NULL;
        _cleanup_buf_ Buf output = {};
        SandboxedCommand *c;

        assert_int_equal(sandboxed_command_start(&(SandboxedConfig){.args = args, .home = true}, &c), 0);
        home = str_printf("%s/home\n", sandboxed_command_dir(c));
        assert_int_equal(sandboxed_command_wait(c, LONG_MS, &output), 0);
        assert_int_equal(output.len, strlen(home));
        assert_memory_equal(output.data, home, output.len);
        home[strlen(home) - strlen("/home\n")] = 0;
        sandboxed_command_free(c);
        assert_int_equal(access(home, F_OK), -1);
}

static int read_home(const SandboxedCommand *c, const char *name) {
        _cleanup_buf_ Buf text = {};

        return sandboxed_command_read(c, name, 4, &text);
}

// Whatever it is that has written there.
static void what_it_writes_is_read_if_it_is_a_file(void **state) {
        static const char *const args[] = {"/bin/sh", "-c",
                                           "cd home && cat $MY_DIR/in >out && echo large >large && ln -s "
                                           "../in link && mkdir dir && mkfifo pipe",
                                           NULL};
        static const SandboxedFile in = {"in", "in\n", 3};
        _cleanup_buf_ Buf output = {}, text = {};
        SandboxedCommand *c;

        assert_int_equal(sandboxed_command_start(&(SandboxedConfig){.args = args,
                                                                    .files = &in,
                                                                    .n_files = 1,
                                                                    .home = true,
                                                                    .dir_variable = "MY_DIR",
                                                                    .reserves_much = true},
                                                 &c),
                         0);
        assert_int_equal(sandboxed_command_wait(c, LONG_MS, &output), 0);
        assert_int_equal(sandboxed_command_read(c, "out", 4, &text), 0);
        assert_int_equal(text.len, 3);
        assert_int_equal(read_home(c, "large"), -EFBIG);
        assert_int_equal(read_home(c, "link"), -EISDIR);
        assert_int_equal(read_home(c, "dir"), -EISDIR);
        assert_int_equal(read_home(c, "pipe"), -EISDIR);
        assert_int_equal(read_home(c, "none"), -ENOENT);
        sandboxed_command_free(c);
}

static void it_gets_no_socket_and_no_other_process(void **state) {
        static const char *const args[] = {
                "bash", "-c",
                "(exec 3<>/dev/udp/127.0.0.1/9) && echo socket; kill -0 $$ && echo signal; :", NULL};
        _cleanup_free_ char *said = output_of(args, NULL, 0);

        assert_null(strstr(said, "socket\n"));
        assert_null(strstr(said, "signal\n"));
}

static void it_prints_no_more_than_is_kept(void **state) {
        static const char *const args[] = {"dd", "if=/dev/zero", "bs=65536", "count=100", NULL};
        _cleanup_(sandboxed_command_freep) SandboxedCommand *c = begin(args, NULL, 0);
        _cleanup_buf_ Buf output = {};

        assert_int_equal(sandboxed_command_wait(c, LONG_MS, &output), 0);
        assert_int_equal(output.len, SANDBOXED_OUTPUT_MAX);
}

static void who_takes_too_long_is_ended(void **state) {
        static const char *const args[] = {"sleep", "1000", NULL};
        SandboxedCommand *c = begin(args, NULL, 0);
        _cleanup_buf_ Buf output = {};

        assert_int_equal(sandboxed_command_wait(c, 1, &output), -ETIMEDOUT);
        sandboxed_command_free(c); // returns when the process is gone
}

static void what_is_not_there_is_said(void **state) {
        static const char *const args[] = {"argosy-no-such-program", NULL};
        static const char *const cat[] = {"cat", NULL};
        static const SandboxedFile file = {"../a", "", 0};
        SandboxedCommand *c = NULL;

        assert_int_equal(sandboxed_command_start(&(SandboxedConfig){args, NULL, 0}, &c), -ENOENT);
        assert_int_equal(sandboxed_command_start(&(SandboxedConfig){cat, &file, 1}, &c), -EINVAL);
}

RUN_TESTS(
        cmocka_unit_test(it_finds_its_files_and_leaves_none),
        cmocka_unit_test(it_is_nobody_if_we_are_root),
        cmocka_unit_test(it_may_have_a_home_that_goes_with_it),
        cmocka_unit_test(it_gets_no_socket_and_no_other_process),
        cmocka_unit_test(what_it_writes_is_read_if_it_is_a_file),
        cmocka_unit_test(it_prints_no_more_than_is_kept),
        cmocka_unit_test(who_takes_too_long_is_ended),
        cmocka_unit_test(what_is_not_there_is_said)
)
