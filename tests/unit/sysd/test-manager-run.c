// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tmpdir.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "manager-run.h"
#include "str.h"

static char *socket_path, *run_path, *mark_path;

FIXTURE(setup) {
        assert_int_equal(tmpdir_make(state), 0);
        socket_path = str_printf("%s/private", (char *) *state);
        run_path = str_printf("%s/manager", (char *) *state);
        mark_path = str_printf("%s/shutdown", (char *) *state);
}

static int teardown(void **state) {
        free(socket_path);
        free(run_path);
        free(mark_path);
        return tmpdir_drop(state);
}

// A process that listens as a manager does, until it is killed.
static pid_t manager_start(void) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int ready[2], fd;
        char byte;

        assert_true(str_copy(a.sun_path, sizeof(a.sun_path), socket_path));
        assert_int_equal(pipe(ready), 0);
        (void) unlink(socket_path);
        pid_t pid = fork();
        if (pid == 0) {
                fd = socket(AF_UNIX, SOCK_STREAM, 0);
                if (bind(fd, (struct sockaddr *) &a, sizeof(a)) < 0 || listen(fd, 10) < 0 ||
                    write(ready[1], "", 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        assert_true(pid > 0);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        return pid;
}

static void manager_stop(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void the_same_manager_is_the_same_run(void **state) {
        pid_t pid = manager_start();

        assert_int_equal(manager_run_check(socket_path, run_path, mark_path), 0);
        assert_int_equal(manager_run_check(socket_path, run_path, mark_path), 0);
        manager_stop(pid);
}

static void another_process_is_another_run_told_once(void **state) {
        pid_t pid = manager_start();

        assert_int_equal(manager_run_check(socket_path, run_path, mark_path), 0);
        manager_stop(pid);
        pid = manager_start();
        assert_int_equal(access(mark_path, F_OK), -1);
        assert_int_equal(manager_run_check(socket_path, run_path, mark_path), 1);
        assert_int_equal(unlink(mark_path), 0);
        assert_int_equal(manager_run_check(socket_path, run_path, mark_path), 0);
        manager_stop(pid);
}

static void the_same_number_started_at_another_time_is_another_run(void **state) {
        _cleanup_free_ char *text = NULL;
        pid_t pid = manager_start();

        text = str_printf("%i 1\n", (int) pid);
        assert_int_equal(file_replace(AT_FDCWD, run_path, text, strlen(text), 0600, 0), 0);
        assert_int_equal(manager_run_check(socket_path, run_path, mark_path), 1);
        manager_stop(pid);
}

static void without_a_manager_nothing_is_told_or_forgotten(void **state) {
        pid_t pid = manager_start();

        assert_int_equal(manager_run_check(socket_path, run_path, mark_path), 0);
        manager_stop(pid);
        assert_int_equal(manager_run_check(socket_path, run_path, mark_path), -ECONNREFUSED);
        pid = manager_start();
        assert_int_equal(manager_run_check(socket_path, run_path, mark_path), 1);
        manager_stop(pid);
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        IN_DIR(the_same_manager_is_the_same_run),
        IN_DIR(another_process_is_another_run_told_once),
        IN_DIR(the_same_number_started_at_another_time_is_another_run),
        IN_DIR(without_a_manager_nothing_is_told_or_forgotten)
)
