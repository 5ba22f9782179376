// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oom.h"

static int no_memory_for_a_table(void) {
        void *table = oom_checked(NULL);

        return table ? 1 : 2;
}

static int an_error_of_a_table(void) {
        return oom_check(-ENOMEM);
}

// How a process ends that does this, and what it says.
static int end_of(int (*act)(void), char *output, size_t size) {
        int out[2], status;

        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                (void) dup2(out[1], STDERR_FILENO);
                _exit(act() == 1 ? 100 : 101); // it went on
        }
        close(out[1]);
        ssize_t n = read(out[0], output, size - 1);
        output[n > 0 ? n : 0] = 0;
        close(out[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void who_has_no_memory_for_a_table_ends_and_says_so(void **state) {
        char output[256];

        assert_int_equal(end_of(no_memory_for_a_table, output, sizeof output), EXIT_FAILURE);
        assert_non_null(strstr(output, "no memory"));
        assert_int_equal(end_of(an_error_of_a_table, output, sizeof output), EXIT_FAILURE);
        assert_non_null(strstr(output, "no memory"));
}

static void everything_else_is_handed_on(void **state) {
        int here;

        assert_ptr_equal(oom_checked(&here), &here);
        assert_int_equal(oom_check(0), 0);
        assert_int_equal(oom_check(1), 1);
        assert_int_equal(oom_check(-ENOSPC), -ENOSPC);
}

RUN_TESTS(
        cmocka_unit_test(who_has_no_memory_for_a_table_ends_and_says_so),
        cmocka_unit_test(everything_else_is_handed_on)
)
