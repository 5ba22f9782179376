// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   memory with the program, sealed -> fork -> enter_container() -> execute it -> its word and the
//   connection
//   -> both processes are gone -> returned
//
// The process that enters is still argosyd's program and is not to be seen from inside: it joins the pid
// namespace for its children only, and has none before it has become the other program.

#include "manager-connect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "manager-enter.h"

// The program; see connector.S.
extern const uint8_t connector_begin[], connector_end[];

// ---- the program

static int write_program(int fd) {
        size_t len = (size_t) (connector_end - connector_begin);

        for (size_t at = 0; at < len;) {
                ssize_t n = write(fd, connector_begin + at, len - at);

                if (n < 0)
                        return -errno;
                at += (size_t) n;
        }
        return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ? -errno
                                                                                                    : 0;
}

static int open_program(void) {
#ifdef MFD_EXEC // or the kernel complains (Linux 6.3)
        int fd = memfd_create("argosy-connector", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC), r;
#else
        int fd = -1, r;
#endif

        if (fd < 0)
                fd = memfd_create("argosy-connector", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;
        r = write_program(fd);
        if (r < 0) {
                close(fd);
                return r;
        }
        return fd;
}

// ---- the process that enters

static _Noreturn void enter_and_execute(pid_t leader, uint64_t born, const char *path, int program,
                                        int link) {
        static char name[] = "argosy-connector";
        char *const args[] = {name, (char *) path, NULL}, *const none[] = {NULL};
        ConnectorWord word = {.step = CONNECTOR_ENTERS};

        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
                word.error = -errno;
        if (word.error == 0 && leader != -1)
                word.error = enter_container(leader, born, ENTER_TO_BE_SEEN);
        if (word.error == 0 && (dup2(link, STDIN_FILENO) < 0 || // which ends this end of argosyd's own link
                                syscall(SYS_close_range, STDOUT_FILENO, ~0U, CLOSE_RANGE_CLOEXEC) < 0 ||
                                fexecve(program, args, none) < 0))
                word.error = -errno;
        (void) send(link, &word, sizeof(word), MSG_NOSIGNAL);
        _exit(EXIT_FAILURE);
}

// ---- the one that waits

static int take_fd(struct msghdr *m) {
        struct cmsghdr *c = CMSG_FIRSTHDR(m);
        int fd;

        if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
            c->cmsg_len != CMSG_LEN(sizeof(int)))
                return -EBADMSG;
        memcpy(&fd, CMSG_DATA(c), sizeof(int));
        return fd;
}

int manager_connect_receive(int link, ConnectorStep *ret_step) {
        ConnectorWord word = {};
        char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(sizeof(size_t))));
        struct iovec iov = {&word, sizeof(word)};
        struct msghdr m = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control,
                           .msg_controllen = CMSG_LEN(sizeof(int))}; // room for one, not for two
        ssize_t n = recvmsg(link, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        int fd = n < 0 ? -errno : take_fd(&m);
        bool too_many = m.msg_flags & MSG_CTRUNC; // what was too many is closed

        if (n == sizeof(word) && (word.step == CONNECTOR_ENTERS || word.step == CONNECTOR_CONNECTS))
                *ret_step = (ConnectorStep) word.step;
        if (n == sizeof(word) && word.error == 0 && !too_many)
                return fd;
        if (fd >= 0)
                close(fd);
        return n == sizeof(word) && word.error < 0 && word.error > -4096 ? word.error
               : n == 0                                                  ? -ECONNRESET
                                                                         : -EBADMSG;
}

static int wait_for_word(int link, ConnectorStep *ret_step) {
        struct pollfd p = {.fd = link, .events = POLLIN};
        uint64_t end_us = clock_boot_us() + CONNECTOR_SEC * USEC_PER_SEC;
        int r;

        do { // and once more when the time is over: we may have stood still ourselves
                uint64_t now_us = clock_boot_us();

                r = poll(&p, 1, now_us < end_us ? (int) ((end_us - now_us) / USEC_PER_MSEC) + 1 : 0);
        } while (r < 0 && errno == EINTR);
        if (r < 0)
                return -errno;
        return r == 0 ? -ETIMEDOUT : manager_connect_receive(link, ret_step);
}

// It has waited for its child, unless it had to be ended; then that is ended too.
static void reap(pid_t pid, bool kill_it) {
        if (kill_it)
                kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

int manager_connect(pid_t leader, uint64_t born, const char *path, ConnectorStep *ret_step) {
        int program = open_program(), links[2], r;
        pid_t pid;

        *ret_step = CONNECTOR_PREPARES;
        if (program < 0)
                return program;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, links) < 0) {
                r = -errno;
                close(program);
                return r;
        }
        pid = fork();
        if (pid == 0)
                enter_and_execute(leader, born, path, program, links[1]);
        r = pid < 0 ? -errno : 0;
        close(program);
        close(links[1]);
        if (r == 0)
                r = wait_for_word(links[0], ret_step);
        close(links[0]);
        if (pid > 0)
                reap(pid, r < 0);
        return r;
}
