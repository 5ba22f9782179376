// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a systemd manager is the same run as last time, so that what was known of it still holds
// (manager-run.h).
//
//      manager_run_check(): who listens on the socket (SO_PEERCRED) -> "PID BIRTH\n"
//          -> is it what the file says?
//
// 0: the same run, or the first one; 1: another run, and the file `mark` was made before the new one was
// noted, so a crash in between loses nothing. The file lies in a directory that does not survive a boot.
// Failures: errno of the socket or file; -ESRCH: the listener has ended.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fileio.h"
#include "manager-run.h"
#include "process-birth.h"
#include "str.h"

enum { RUN_SIZE = 64 };

// The pid of the process that listens on the socket, as the kernel noted it.
static int find_listener(const char *path, pid_t *ret) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        struct ucred peer;
        socklen_t len = sizeof(peer);
        int r = 0, fd;

        if (!str_copy(a.sun_path, sizeof(a.sun_path), path))
                return -ENAMETOOLONG;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *) &a, sizeof(a)) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
                r = -errno;
        close(fd);
        *ret = peer.pid;
        return r;
}

static int describe_run(pid_t pid, char ret[static RUN_SIZE]) {
        uint64_t birth = process_birth(pid);

        if (birth == 0)
                return -ESRCH;
        snprintf(ret, RUN_SIZE, "%i %" PRIu64 "\n", (int) pid, birth);
        return 0;
}

int manager_run_check(const char *socket, const char *path, const char *mark) {
        _cleanup_buf_ Buf before = {};
        char run[RUN_SIZE];
        pid_t pid = 0;
        bool other;
        int r = find_listener(socket, &pid);

        if (r >= 0)
                r = describe_run(pid, run);
        if (r < 0)
                return r;
        r = file_read(AT_FDCWD, path, RUN_SIZE, &before);
        if (r < 0 && r != -ENOENT)
                return r;
        other = r >= 0 && (before.len != strlen(run) || memcmp(before.data, run, before.len) != 0);
        if (r >= 0 && !other)
                return 0;
        r = other ? file_replace(AT_FDCWD, mark, "", 0, 0600, 0) : 0;
        if (r >= 0)
                r = file_replace(AT_FDCWD, path, run, strlen(run), 0600, 0);
        return r < 0 ? r : other;
}
