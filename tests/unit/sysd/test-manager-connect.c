// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The process that a container's root may take over: what it holds, and what it may say.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "manager-connect.h"
#include "process-birth.h"
#include "str.h"
#include "test.h"
#include "tmpdir.h"

static struct sockaddr_un address;

FIXTURE(setup) {
        tmpdir_make(state);
        address = (struct sockaddr_un){.sun_family = AF_UNIX};
        assert_true(snprintf(address.sun_path, sizeof(address.sun_path), "%s/private", (char *) *state) <
                    (int) sizeof(address.sun_path));
}

FIXTURE(teardown) {
        tmpdir_drop(state);
}

static int listen_there(int backlog) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(listen(fd, backlog), 0);
        return fd;
}

static void a_connection_is_made_by_a_process_that_is_gone(void **state) {
        int listener = listen_there(1), theirs, ours;
        ConnectorStep step;
        struct ucred peer;
        socklen_t size = sizeof(peer);
        char byte;

        ours = manager_connect(-1, 0, address.sun_path, &step);
        assert_true(ours >= 0);
        theirs = accept(listener, NULL, NULL);
        assert_true(theirs >= 0);
        assert_int_equal(write(ours, "x", 1), 1);
        assert_int_equal(read(theirs, &byte, 1), 1);
        assert_int_equal(getsockopt(theirs, SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
        assert_true(peer.pid > 0 && peer.pid != getpid());
        assert_true(kill(peer.pid, 0) < 0 && errno == ESRCH); // nor a zombie
        assert_true(fcntl(ours, F_GETFD) & FD_CLOEXEC);
        close(ours);
        assert_int_equal(read(theirs, &byte, 1), 0); // nobody else has it
        close(theirs);
        close(listener);
}

static void what_fails_is_told(void **state) {
        char path[300];
        ConnectorStep step;

        assert_int_equal(manager_connect(-1, 0, address.sun_path, &step), -ENOENT);
        assert_int_equal(step, CONNECTOR_CONNECTS);
        memset(path, 'x', sizeof(path) - 1);
        path[sizeof(path) - 1] = 0;
        assert_int_equal(manager_connect(-1, 0, path, &step), -ENAMETOOLONG);
        assert_int_equal(manager_connect(1, process_birth(1), address.sun_path, &step), -ESRCH);
        assert_int_equal(step, CONNECTOR_ENTERS);
        int r = manager_connect(getpid(), process_birth(getpid()), address.sun_path, &step);
        assert_int_equal(r, -EINVAL); // no container's
        assert_int_equal(step, CONNECTOR_ENTERS);
}

// ---- while it is there

static char *text_of(pid_t pid, const char *file) {
        _cleanup_free_ char *path = str_printf("/proc/%d/%s", (int) pid, file);
        _cleanup_buf_ Buf text = {};

        return file_read(AT_FDCWD, path, 1 << 20, &text) < 0 ? NULL : buf_take_string(&text);
}

static pid_t child_of(pid_t pid) {
        _cleanup_free_ char *file = str_printf("task/%d/children", (int) pid), *text = text_of(pid, file);

        return text ? (pid_t) atoi(text) : 0;
}

static char *link_of(pid_t pid, const char *name) {
        _cleanup_free_ char *path = str_printf("/proc/%d/%s", (int) pid, name);
        char target[256];
        ssize_t n = readlink(path, target, sizeof(target) - 1);

        if (n < 0)
                return NULL;
        target[n] = 0;
        return strdup(target);
}

// One that waits for its connection for as long as nobody accepts. A new listener's queue has room for one.
static pid_t start_waiting(int listener, int *ret_first) {
        pid_t helper, program;
        ConnectorStep step;

        *ret_first = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(*ret_first, (struct sockaddr *) &address, sizeof(address)), 0);
        helper = fork();
        assert_true(helper >= 0);
        if (helper == 0)
                _exit(manager_connect(-1, 0, address.sun_path, &step) >= 0 ? EXIT_SUCCESS : EXIT_FAILURE);
        for (;;) {
                program = child_of(helper);
                pid_t inside = program > 0 ? child_of(program) : 0;
                if (inside > 0)
                        return inside;
                sched_yield();
        }
}

static void end_all(pid_t helper, pid_t inside) {
        kill(helper, SIGKILL);
        assert_int_equal(waitpid(helper, NULL, 0), helper);
        while (kill(inside, 0) == 0) { // it goes with whoever wanted it; init reaps it
                _cleanup_free_ char *status = text_of(inside, "stat");

                if (status && strstr(status, ") Z "))
                        break;
                sched_yield();
        }
}

static unsigned n_open(pid_t pid) {
        unsigned n = 0;

        for (int fd = 0; fd < 256; fd++) {
                _cleanup_free_ char *name = str_printf("fd/%d", fd), *target = link_of(pid, name);

                if (!target)
                        continue;
                assert_true(str_has_prefix(target, "socket:"));
                n++;
        }
        return n;
}

static void nothing_of_the_host_s_is_in_it(void **state) {
        int listener = listen_there(0), first, fd;
        pid_t inside = start_waiting(listener, &first), parent;
        _cleanup_free_ char *exe = link_of(inside, "exe"), *maps = NULL, *status = NULL, *path = NULL,
                            *stat = text_of(inside, "stat");

        assert_non_null(stat);
        parent = child_of(getpid());
        if (!exe) { // only root may look into it
                end_all(parent, inside);
                close(first);
                close(listener);
                skip();
        }
        assert_true(str_has_prefix(exe, "/memfd:argosy-connector"));
        assert_true(n_open(inside) <= 2);
        maps = text_of(inside, "maps");
        for (char *line = strtok(maps, "\n"); line; line = strtok(NULL, "\n")) {
                const char *file = strchr(line, '/');

                assert_true(!file || str_has_prefix(file, "/memfd:argosy-connector"));
        }
        status = text_of(inside, "status");
        assert_non_null(strstr(status, "NoNewPrivs:"));
        path = str_printf("/proc/%d/environ", (int) inside);
        {
                _cleanup_free_ char *environment = text_of(inside, "environ");

                assert_true(!environment || !*environment);
        }
        free(path);
        path = str_printf("/proc/%d/exe", (int) inside);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        assert_true(fd < 0 || write(fd, "x", 1) < 0); // running, and sealed
        if (fd >= 0)
                close(fd);
        end_all(parent, inside);
        close(first);
        close(listener);
}

// ---- what a liar says

static void send_word(int link, ConnectorWord word, size_t len, int n_fds) {
        char control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(sizeof(size_t)))) = {};
        int fds[2] = {STDIN_FILENO, STDERR_FILENO};
        struct iovec iov = {&word, len};
        struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

        if (n_fds > 0) {
                m.msg_control = control;
                m.msg_controllen = CMSG_SPACE((size_t) n_fds * sizeof(int));
                struct cmsghdr *c = CMSG_FIRSTHDR(&m);
                *c = (struct cmsghdr){.cmsg_len = CMSG_LEN((size_t) n_fds * sizeof(int)),
                                      .cmsg_level = SOL_SOCKET,
                                      .cmsg_type = SCM_RIGHTS};
                memcpy(CMSG_DATA(c), fds, (size_t) n_fds * sizeof(int));
        }
        assert_int_equal(sendmsg(link, &m, 0), (ssize_t) len);
}

static unsigned count_open(void) {
        unsigned n = 0;

        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

static void lies_are_recognised(void **state) {
        static const struct {
                ConnectorWord word;
                size_t len;
                int n_fds, result;
        } cases[] = {
                {{0, CONNECTOR_CONNECTS}, sizeof(ConnectorWord), 0, -EBADMSG},
                {{0, CONNECTOR_CONNECTS}, sizeof(ConnectorWord), 2, -EBADMSG},
                {{0, CONNECTOR_CONNECTS}, 4, 1, -EBADMSG},
                {{0, CONNECTOR_CONNECTS}, 4, 0, -EBADMSG},
                {{5, CONNECTOR_CONNECTS}, sizeof(ConnectorWord), 1, -EBADMSG},
                {{-1000000, CONNECTOR_CONNECTS}, sizeof(ConnectorWord), 0, -EBADMSG},
                {{-ENOENT, CONNECTOR_CONNECTS}, sizeof(ConnectorWord), 1, -ENOENT},
                {{-ENOENT, 77}, sizeof(ConnectorWord), 0, -ENOENT},
        };
        unsigned before = count_open();
        ConnectorStep step;
        int links[2], fd;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                step = CONNECTOR_PREPARES;
                assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, links), 0);
                send_word(links[1], cases[i].word, cases[i].len, cases[i].n_fds);
                assert_int_equal(manager_connect_receive(links[0], &step), cases[i].result);
                assert_true(step <= CONNECTOR_CONNECTS);
                close(links[0]);
                close(links[1]);
                assert_int_equal(count_open(), before); // no descriptor stays
        }
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, links), 0);
        send_word(links[1], (ConnectorWord){0, CONNECTOR_CONNECTS}, sizeof(ConnectorWord), 1);
        fd = manager_connect_receive(links[0], &step);
        assert_true(fd >= 0);
        close(fd);
        close(links[1]);
        assert_int_equal(manager_connect_receive(links[0], &step), -ECONNRESET);
        close(links[0]);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_connection_is_made_by_a_process_that_is_gone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_fails_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_of_the_host_s_is_in_it, setup, teardown),
        cmocka_unit_test(lies_are_recognised)
)
