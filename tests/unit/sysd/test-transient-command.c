// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A program, its outputs and its end. What runs it here is a script that takes systemd-run's arguments.
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fileio.h"
#include "str.h"
#include "tmpdir.h"
#include "transient-command.h"

static void *dir;
static char *runner;

static struct {
        bool done, closed;
        int result;
        char output[256], said[TRANSIENT_SAID_MAX + 1];
        size_t said_len;
} end;

FIXTURE(setup) {
        static const char script[] =
                "#!/bin/sh\nfor word; do shift; test \"$word\" = -- && break; done\nexec \"$@\"\n";

        memset(&end, 0, sizeof(end));
        assert_int_equal(loop_setup(state), 0);
        assert_int_equal(tmpdir_make(&dir), 0);
        runner = str_printf("%s/run", (char *) dir);
        assert_int_equal(file_replace(AT_FDCWD, runner, script, strlen(script), 0755, 0), 0);
}

static int teardown(void **state) {
        free(TAKE_PTR(runner));
        return loop_teardown(state) ?: tmpdir_drop(&dir);
}

static void on_done(int result, const Buf *output, const Buf *said, void *userdata) {
        end.done = true;
        end.result = result;
        snprintf(end.output, sizeof(end.output), "%.*s", (int) output->len, (const char *) output->data);
        end.said_len = said->len;
        memcpy(end.said, said->data ?: (const uint8_t *) "", said->len);
}

static void on_closed(void *userdata) {
        end.closed = true;
}

static TransientCommand *start(const char *script, unsigned limit_sec) {
        const char *const args[] = {"/bin/sh", "-c", script, NULL};
        const TransientConfig config = {.loop = &test_loop,
                                        .runner = runner,
                                        .unit = "argosyd-test.service",
                                        .description = "a test",
                                        .args = args,
                                        .limit_sec = limit_sec,
                                        .output_max = 100};
        TransientCommand *c;

        assert_int_equal(transient_command_start(&config, on_done, NULL, &c), 0);
        return c;
}

static void what_it_prints_is_there_at_its_end(void **state) {
        (void) start("echo out; echo err >&2", 60);
        loop_until(end.done);
        assert_int_equal(end.result, 0);
        assert_string_equal(end.output, "out\n");
        assert_string_equal(end.said, "err\n");
}

static TransientCommand *running;
static char heard[64];

static void on_heard(void *userdata) {
        const Buf *said = transient_command_said(running);

        snprintf(heard, sizeof(heard), "%.*s", (int) said->len, (const char *) said->data);
}

static void what_it_says_is_heard_while_it_runs(void **state) {
        const char *const args[] = {"/bin/sh", "-c", "echo first >&2; sleep 1000", NULL};
        const TransientConfig config = {.loop = &test_loop,
                                        .runner = runner,
                                        .unit = "argosyd-test.service",
                                        .description = "a test",
                                        .args = args,
                                        .limit_sec = 2000,
                                        .output_max = 100,
                                        .heard = on_heard};

        assert_int_equal(transient_command_start(&config, on_done, NULL, &running), 0);
        loop_until(streq(heard, "first\n"));
        assert_false(end.done);
        transient_command_cancel(running, on_closed, NULL);
        loop_until(end.closed);
}

static void a_failure_is_one_with_its_words(void **state) {
        (void) start("echo no >&2; exit 125", 60);
        loop_until(end.done);
        assert_int_equal(end.result, -EIO);
        assert_string_equal(end.said, "no\n");
}

static void of_what_it_says_the_end_is_kept(void **state) {
        (void) start("i=0; while test $i -lt 3000; do echo $i; i=$((i + 1)); done >&2; exit 1", 60);
        loop_until(end.done);
        assert_int_equal(end.said_len, TRANSIENT_SAID_MAX);
        assert_non_null(strstr(end.said, "2999\n"));
}

static void who_prints_too_much_is_ended(void **state) {
        (void) start("while :; do echo more; done", 60);
        loop_until(end.done);
        assert_int_equal(end.result, -EFBIG);
}

static void a_cancelled_one_says_nothing(void **state) {
        transient_command_cancel(start("sleep 1000", 2000), on_closed, NULL);
        loop_until(end.closed);
        assert_false(end.done);
}

static void a_program_that_is_not_there_is_not_started(void **state) {
        const char *const args[] = {"/nowhere/podman", NULL};
        const TransientConfig config = {.loop = &test_loop,
                                        .unit = "argosyd-test.service",
                                        .description = "a test",
                                        .args = args,
                                        .limit_sec = 1};
        TransientCommand *c;

        assert_int_equal(transient_command_start(&config, on_done, NULL, &c), -ENOENT);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(what_it_prints_is_there_at_its_end), CASE(what_it_says_is_heard_while_it_runs),
        CASE(a_failure_is_one_with_its_words),
        CASE(of_what_it_says_the_end_is_kept),    CASE(who_prints_too_much_is_ended),
        CASE(a_cancelled_one_says_nothing),       CASE(a_program_that_is_not_there_is_not_started)
)
