// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whom a helper enters, and that it does not outlive argosyd.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "manager-enter.h"
#include "process-birth.h"
#include "str.h"
#include "tmpdir.h"

// Runs `work` in a process whose descriptor 0 is a link, with its other end open or not; what it returns.
static int in_helper(int (*work)(void), bool linked) {
        int fds[2], status;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        if (!linked)
                close(fds[0]);
        pid_t child = fork();
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

// ---- directories

static int refuse_openat2(int error) {
        struct sock_filter f[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned) error),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {.len = ELEMENTSOF(f), .filter = f};

        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                               prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0
                       ? -errno
                       : 0;
}

// The exit status of a process without openat2(): 0, or the errno of what it was to open.
static int open_without_openat2(int error, const char *base, const char *name) {
        const char *const names[] = {"systemd", name, NULL};
        pid_t child = fork();
        int status, fd;

        assert_true(child >= 0);
        if (child == 0) {
                fd = refuse_openat2(error) < 0 ? -ECHILD : enter_open_dir(base, names, geteuid(), true);
                _exit(fd < 0 ? -fd : 0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

// As filters have it that know nothing of that call, or refuse it.
static void a_directory_is_opened_without_openat2_too(void **state) {
        static const int errors[] = {ENOSYS, EPERM};
        _cleanup_free_ char *link = str_printf("%s/systemd/link", (const char *) *state);

        for (size_t i = 0; i < ELEMENTSOF(errors); i++)
                assert_int_equal(open_without_openat2(errors[i], *state, "user"), 0);
        assert_int_equal(symlink("user", link), 0);
        for (size_t i = 0; i < ELEMENTSOF(errors); i++)
                assert_int_not_equal(open_without_openat2(errors[i], *state, "link"), 0);
}

RUN_TESTS(
        cmocka_unit_test(a_helper_dies_with_its_parent),
        cmocka_unit_test(a_helper_whose_parent_is_gone_already_does_nothing),
        cmocka_unit_test(a_process_that_got_the_leaders_number_is_not_entered),
        cmocka_unit_test_setup_teardown(a_directory_is_opened_without_openat2_too, tmpdir_make,
                                        tmpdir_drop)
)
