// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whom a helper enters, and that it does not outlive argosyd.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "manager-enter.h"
#include "process-birth.h"
#include "test.h"

// Runs `work` in a process whose descriptor 0 is a link, with its other end open or not; what it returns.
static int in_helper(int (*work)(void), bool linked) {
        int fds[2], status;
        pid_t child;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        if (!linked)
                close(fds[0]);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                if (linked)
                        close(fds[0]);
                if (dup2(fds[1], STDIN_FILENO) < 0)
                        _exit(255);
                _exit(-work());
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        close(fds[1]);
        if (linked)
                close(fds[0]);
        assert_true(WIFEXITED(status));
        return -WEXITSTATUS(status);
}

static int become_myself(void) {
        _cleanup_free_ char *home = NULL;
        uid_t uid = getuid() ?: 65534; // root becomes nobody
        int sig = 0, r = enter_user(uid, &home);

        if (r == 0 && (prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0) < 0 || sig != SIGKILL || getuid() != uid))
                return -EBADMSG;
        return r;
}

static void a_helper_dies_with_its_parent(void **state) {
        assert_int_equal(in_helper(become_myself, true), 0);
}

static void a_helper_whose_parent_is_gone_already_does_nothing(void **state) {
        assert_int_equal(in_helper(become_myself, false), -ECANCELED);
}

static int enter_with(uint64_t later) {
        return enter_container(getpid(), process_birth(getpid()) + later, 0);
}

static int enter_my_own(void) {
        return enter_with(0);
}

static int enter_somebody_with_its_number(void) {
        return enter_with(1);
}

static int enter_nobody(void) {
        pid_t child = fork();

        if (child == 0)
                _exit(0);
        if (child < 0 || waitpid(child, NULL, 0) != child)
                return -EBADMSG;
        return process_birth(child) == 0 ? enter_container(child, 0, 0) : -EBADMSG;
}

static void a_process_that_got_the_leaders_number_is_not_entered(void **state) {
        assert_int_equal(in_helper(enter_my_own, true), -EINVAL); // found, and no container's
        assert_int_equal(in_helper(enter_somebody_with_its_number, true), -ESRCH);
        assert_int_equal(in_helper(enter_nobody, true), -ESRCH);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_helper_dies_with_its_parent),
                cmocka_unit_test(a_helper_whose_parent_is_gone_already_does_nothing),
                cmocka_unit_test(a_process_that_got_the_leaders_number_is_not_entered),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
