// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads events over HTTP, as many programs at once would.
//
//   sse-client SOCKET TARGET STREAMS SECONDS
//
// Opens so many streams of that target, says "ready" when each of them has begun, reads for so long, and
// prints how many events each has been told of at least and at most, and the median and the 99th percentile
// of the microseconds from an event, which says when it came to be, to its reader. Whatever is not a success
// ends the program.

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "macro.h"

enum {
        STREAMS_MAX = 4096,
        READ_BYTES = 256 * 1024,
        BUCKET_US = 100, // lateness is counted in these
        BUCKETS = 600 * 1000,
        TAIL = 64, // bytes that are looked at again with the next ones: longer than what is looked for
};

typedef struct Reader {
        int fd;
        bool answered;    // the headers have come
        size_t chunk;     // bytes of the chunk that are yet to come
        char size[16];    // of the next one, as far as that has come
        size_t n_size;
        uint64_t n;
        char tail[TAIL];
        size_t n_tail;
        bool begun;
} Reader;

static Reader readers[STREAMS_MAX];
static uint64_t late[BUCKETS], n_late;
static size_t n_begun;

static void fail(const char *why) {
        fprintf(stderr, "sse-client: %s: %s\n", why, strerror(errno));
        exit(EXIT_FAILURE);
}

static uint64_t now_us(clockid_t clock) {
        struct timespec t;

        clock_gettime(clock, &t);
        return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

static void begin(Reader *r, int epoll, const char *path, const char *target) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = r};
        char text[512];
        int len = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target);

        if (len >= (int) sizeof(text) || strlen(path) >= sizeof(a.sun_path))
                fail("too long a name");
        memcpy(a.sun_path, path, strlen(path) + 1);
        r->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (r->fd < 0 || connect(r->fd, (struct sockaddr *) &a, sizeof(a)) < 0)
                fail(path);
        if (write(r->fd, text, (size_t) len) != len || epoll_ctl(epoll, EPOLL_CTL_ADD, r->fd, &event) < 0)
                fail("asking");
}

// What stands between chunks is taken out, in place. How many bytes are left.
static size_t join_chunks(Reader *r, char *p, size_t n) {
        size_t to = 0;

        for (size_t at = 0; at < n;) {
                size_t more = MIN_OF(r->chunk, n - at);

                memmove(p + to, p + at, more);
                to += more;
                at += more;
                r->chunk -= more;
                for (; r->chunk == 0 && at < n; at++) { // CR, LF, the size, CR, LF
                        if (p[at] == '\n' && r->n_size > 0) {
                                r->size[r->n_size] = 0;
                                r->chunk = strtoul(r->size, NULL, 16);
                                r->n_size = 0;
                                if (r->chunk == 0)
                                        fail("a stream has ended");
                        } else if (p[at] != '\r' && p[at] != '\n' && r->n_size + 1 < sizeof(r->size))
                                r->size[r->n_size++] = p[at];
                }
        }
        return to;
}

// The headers come first, and all at once. How many bytes are left behind them.
static size_t skip_headers(Reader *r, char *p, size_t n) {
        char *end = p ? memmem(p, n, "\r\n\r\n", 4) : NULL;

        if (!end)
                fail("no answer");
        r->answered = true;
        end += 4;
        n -= (size_t) (end - p);
        memmove(p, end, n);
        return n;
}

// Each event has one place with its time, and no other text of ours looks so.
static const char *take_events(Reader *r, const char *p, const char *end, uint64_t now) {
        static const char words[] = "\",\"time\":";
        const char *done = p;

        while ((p = memmem(p, (size_t) (end - p), words, sizeof(words) - 1))) {
                const char *digits = p + sizeof(words) - 1;
                uint64_t at = 0;

                if (end - digits < 20)
                        return p;
                for (; *digits >= '0' && *digits <= '9'; digits++)
                        at = at * 10 + (uint64_t) (*digits - '0');
                late[MIN_OF(now > at ? (now - at) / BUCKET_US : 0, (uint64_t) BUCKETS - 1)]++;
                n_late++;
                r->n++;
                done = p = digits;
        }
        return MAX_OF(done, end - (sizeof(words) - 2));
}

static void receive_some(Reader *r) {
        static char buf[TAIL + READ_BYTES];
        const char *rest;
        ssize_t n;

        memcpy(buf, r->tail, r->n_tail);
        n = read(r->fd, buf + r->n_tail, READ_BYTES);
        if (n <= 0)
                fail("a stream has ended");
        if (!r->answered)
                n = (ssize_t) skip_headers(r, buf + r->n_tail, (size_t) n);
        n = (ssize_t) join_chunks(r, buf + r->n_tail, (size_t) n);
        if (!r->begun && memmem(buf, r->n_tail + (size_t) n, "id: ", 4)) {
                r->begun = true;
                n_begun++;
        }
        n += (ssize_t) r->n_tail;
        rest = take_events(r, buf, buf + n, now_us(CLOCK_REALTIME));
        r->n_tail = (size_t) (buf + n - MAX_OF(rest, (const char *) buf));
        memcpy(r->tail, buf + n - r->n_tail, r->n_tail);
}

static void turn(int epoll) {
        struct epoll_event events[256];
        int n = epoll_wait(epoll, events, ELEMENTSOF(events), 100);

        for (int i = 0; i < n; i++)
                receive_some(events[i].data.ptr);
}

static uint64_t share(unsigned percent) {
        uint64_t seen = 0;

        for (size_t i = 0; i < BUCKETS; i++)
                if ((seen += late[i]) * 100 >= n_late * percent)
                        return i * BUCKET_US;
        return BUCKETS * (uint64_t) BUCKET_US;
}

int main(int argc, char **argv) {
        size_t n = argc == 5 ? (size_t) atoi(argv[3]) : 0;
        uint64_t until_us, least = UINT64_MAX, most = 0;
        struct rlimit files;
        int epoll = epoll_create1(EPOLL_CLOEXEC);

        if (n == 0 || n > STREAMS_MAX)
                fail("usage: sse-client SOCKET TARGET STREAMS SECONDS");
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
                files.rlim_cur = files.rlim_max;
                (void) setrlimit(RLIMIT_NOFILE, &files);
        }
        for (size_t i = 0; i < n; i++) {
                begin(&readers[i], epoll, argv[1], argv[2]);
                while (n_begun <= i)
                        turn(epoll);
        }
        puts("ready");
        fflush(stdout);
        until_us = now_us(CLOCK_MONOTONIC) + (uint64_t) atoi(argv[4]) * 1000000;
        while (now_us(CLOCK_MONOTONIC) < until_us)
                turn(epoll);
        for (size_t i = 0; i < n; i++) {
                least = MIN_OF(least, readers[i].n);
                most = MAX_OF(most, readers[i].n);
        }
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", least, most, share(50), share(99));
        return EXIT_SUCCESS;
}
