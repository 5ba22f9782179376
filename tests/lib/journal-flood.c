// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Writes numbered lines into the journal of the container where it runs, as if its systemd said them about a
// unit: root there may claim to be any of its processes. None is lost: who is faster than journald waits.
//
//      journal-flood UNIT LINES WIDTH
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { HEAD_SIZE = 512 };

static int send_line(int fd, char *text, size_t len) {
        const struct ucred systemd = {.pid = 1};
        union {
                char bytes[CMSG_SPACE(sizeof(struct ucred))];
                struct cmsghdr aligned;
        } control = {};
        struct iovec iov = {.iov_base = text, .iov_len = len};
        struct msghdr m = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof(control)};
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_CREDENTIALS;
        c->cmsg_len = CMSG_LEN(sizeof(systemd));
        memcpy(CMSG_DATA(c), &systemd, sizeof(systemd));
        return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int flood(int fd, const char *unit, unsigned long lines, size_t width) {
        char *text = malloc(HEAD_SIZE + width + 1);
        int r = text ? 0 : -ENOMEM;

        for (unsigned long i = 1; i <= lines && r >= 0; i++) {
                int head = snprintf(text, HEAD_SIZE,
                                    "PRIORITY=6\nSYSLOG_IDENTIFIER=flood\nUNIT=%s\nMESSAGE=%lu ", unit, i);

                if (head >= HEAD_SIZE) {
                        r = -EINVAL;
                        break;
                }
                memset(text + head, 'x', width);
                text[(size_t) head + width] = '\n';
                r = send_line(fd, text, (size_t) head + width + 1);
        }
        free(text);
        return r;
}

int main(int argc, char **argv) {
        const struct sockaddr_un journald = {.sun_family = AF_UNIX,
                                             .sun_path = "/run/systemd/journal/socket"};
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

        if (argc != 4) {
                fprintf(stderr, "usage: journal-flood UNIT LINES WIDTH\n");
                return EXIT_FAILURE;
        }
        r = fd < 0 || connect(fd, (const struct sockaddr *) &journald, sizeof(journald)) < 0 ? -errno : 0;
        if (r >= 0)
                r = flood(fd, argv[1], strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
        if (r < 0)
                fprintf(stderr, "journal-flood: %s\n", strerror(-r));
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
