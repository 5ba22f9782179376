// SPDX-License-Identifier: LGPL-2.1-or-later
//
// argosy-guard LEASE-FILE SECONDS: what argosy-guard@SECONDS.service runs. When that fails, systemd stops
// the units with CutOff=stop, whatever has become of argosyd: they are bound to argosy-guard@SECONDS.target,
// which argosy-cut-off@SECONDS.target ends. (Bound to the service itself they would stop also when that is
// only started again.)
//
// It is ready if the lease, and SECONDS after it, are not over; else it fails at once. Then it sleeps until
// the time that the file names, looks again, and sleeps on if the agent has got more meanwhile. Only the
// clock wakes it, which counts while the machine is suspended. When the time is over it exits with
// GUARD_EXPIRED.
//
// A program of its own, without libraries but libc: it is to go on while memory is short and the daemon is
// in trouble.
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lease-file.h"

enum {
        GUARD_EXPIRED = 75, // the same in argosy-guard@.service
        GUARD_BROKEN = 1,
        SECONDS_MAX = 24 * 3600,
};

static uint64_t now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_BOOTTIME, &t);
        return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

static int fail(const char *what) {
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        return GUARD_BROKEN;
}

// NULL: errno.
static const LeaseFile *map_lease(const char *path) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        const LeaseFile *f = MAP_FAILED;
        struct stat st;

        if (fd < 0)
                return NULL;
        if (fstat(fd, &st) == 0 && st.st_size >= (off_t) sizeof(*f))
                f = mmap(NULL, sizeof(*f), PROT_READ, MAP_SHARED, fd, 0);
        else
                errno = EBADMSG;
        close(fd);
        if (f == MAP_FAILED)
                return NULL;
        if (memcmp(f->magic, LEASE_FILE_MAGIC, sizeof(f->magic)) == 0)
                return f;
        errno = EBADMSG;
        return NULL;
}

// As sd_notify(3).
static void notify_ready(void) {
        const char *path = getenv("NOTIFY_SOCKET");
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        size_t len = path ? strlen(path) : 0;
        int fd;

        if (len < 2 || len >= sizeof(to.sun_path))
                return;
        memcpy(to.sun_path, path, len);
        if (to.sun_path[0] == '@')
                to.sun_path[0] = 0;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return;
        (void) sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *) &to,
                      (socklen_t) (offsetof(struct sockaddr_un, sun_path) + len));
        close(fd);
}

static int sleep_until(int timer, uint64_t us) {
        struct itimerspec when = {
                .it_value = {.tv_sec = (time_t) (us / 1000000), .tv_nsec = (long) (us % 1000000) * 1000}};
        uint64_t n;

        if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
                return -1;
        while (read(timer, &n, sizeof(n)) < 0)
                if (errno != EINTR)
                        return -1;
        return 0;
}

static int stand_guard(const LeaseFile *lease, uint64_t extra_us) {
        int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
        bool ready = false;
        uint64_t until;

        if (timer < 0)
                return fail("timerfd_create");
        while ((until = atomic_load(&lease->until_us) + extra_us) > now_us()) {
                if (!ready)
                        notify_ready();
                ready = true;
                if (sleep_until(timer, until) < 0)
                        return fail("timerfd");
        }
        fprintf(stderr,
                ready ? "This node is cut off from the leader: units that asked for it are stopped.\n"
                      : "This node is cut off from the leader.\n");
        return GUARD_EXPIRED;
}

int main(int argc, char **argv) {
        const LeaseFile *lease;
        unsigned long sec;
        char *end;

        if (argc != 3 || (sec = strtoul(argv[2], &end, 10), *end || !*argv[2]) || sec > SECONDS_MAX) {
                fprintf(stderr, "Usage: argosy-guard LEASE-FILE SECONDS\n");
                return GUARD_BROKEN;
        }
        lease = map_lease(argv[1]);
        if (!lease)
                return fail(argv[1]);
        (void) mlockall(MCL_CURRENT); // it runs without, too
        return stand_guard(lease, sec * 1000000);
}
