// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The wall clock of one program is another one than that of the machine, which all nodes of a testbed share:
// preloaded, it is ahead by as many seconds as the file /run/wall-clock-ahead says, at each look. Without
// that file it is right.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int clock_gettime(clockid_t id, struct timespec *ret);
PUBLIC int gettimeofday(struct timeval *restrict ret, void *restrict zone);
PUBLIC time_t time(time_t *ret);

static time_t ahead_sec(void) {
        char text[32] = "";
        int fd = open("/run/wall-clock-ahead", O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return 0;
        if (read(fd, text, sizeof(text) - 1) < 0)
                *text = 0;
        close(fd);
        return (time_t) strtoll(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *ret) {
        static int (*real)(clockid_t id, struct timespec * ret);

        if (!real)
                real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
        int r = real(id, ret);
        if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
                ret->tv_sec += ahead_sec();
        return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone) {
        struct timespec now;
        int r = clock_gettime(CLOCK_REALTIME, &now);

        if (r == 0)
                *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
        return r;
}

time_t time(time_t *ret) {
        struct timespec now;

        if (clock_gettime(CLOCK_REALTIME, &now) < 0)
                return -1;
        if (ret)
                *ret = now.tv_sec;
        return now.tv_sec;
}
