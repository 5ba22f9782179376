// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The one process of argosy's that a container can see: a static program of its own, which argosyd holds in
// itself as bytes and executes from sealed memory (manager-connect.c). The container's root may
// be allowed to trace it, and to open all it has open and mapped. That is this program, no file of the host,
// and the socket on which it says what came of it; it has no capabilities and none of argosyd's memory.
//
//      argosy-connector PATH     descriptor 0: a socket
//
// It forks, since only children are born into the container: the child connects to PATH, sends one
// ConnectorWord with the connection, and ends; the parent waits for that. Neither lives longer than
// CONNECTOR_SEC, nor than the process that executed it.

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "manager-connect.h"

static void live_shortly(void) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        alarm(CONNECTOR_SEC);
}

// `fd` -1: none.
static int send_word(int error, int fd) {
        ConnectorWord word = {.error = error, .step = CONNECTOR_CONNECTS};
        union {
                struct cmsghdr header;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec iov = {&word, sizeof(word)};
        struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

        if (fd >= 0) {
                m.msg_control = &control;
                m.msg_controllen = sizeof(control);
                control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
                                                  .cmsg_level = SOL_SOCKET,
                                                  .cmsg_type = SCM_RIGHTS};
                memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
        }
        return sendmsg(STDIN_FILENO, &m, MSG_NOSIGNAL) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int connect_and_send(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd;

        if (strlen(path) >= sizeof(a.sun_path))
                return send_word(-ENAMETOOLONG, -1);
        strcpy(a.sun_path, path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *) &a, sizeof(a)) < 0)
                return send_word(-errno, -1);
        return send_word(0, fd);
}

int main(int argc, char **argv) {
        pid_t child;

        if (argc != 2)
                return EXIT_FAILURE;
        live_shortly();
        child = fork();
        if (child < 0)
                return send_word(-errno, -1);
        if (child == 0) {
                live_shortly();
                return connect_and_send(argv[1]);
        }
        close(STDIN_FILENO);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
        return EXIT_SUCCESS;
}
