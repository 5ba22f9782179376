// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Submits instances of a template that the cluster knows, over HTTP: on so many kept connections to
// argosyd's socket, each with one request under way, each request with so many operations of one unit.
//
//   http-client SOCKET TEMPLATE FIRST REQUESTS UNITS CONNECTIONS
//       REQUESTS requests, the first for the instances FIRST to FIRST + UNITS - 1 of TEMPLATE ("load@"), the
//       next ones for
//       those that follow. With 1 unit a request is an object, with more it has a line for each. Prints the
//       seconds from the
//       first byte sent to the last answer read, and the median and the 99th percentile of the microseconds
//       from a request to
//       the end of its answer.
//
// All requests are written before the clock starts: what is measured is argosyd, not how fast its client
// writes. Whatever is not taken ends the program, since a refusal is cheaper than what is to be measured.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "macro.h"
#include "str.h"

enum {
        READ_BYTES = 64 * 1024,
        PATIENCE_MS = 60 * 1000,
        REQUESTS_MAX = 1000 * 1000,
        UNITS_MAX = 20000,
        CONNECTIONS_MAX = 64, // of one user
};

typedef struct Connection {
        int fd;
        uint64_t request, sent_us; // under way; UINT64_MAX: none
        size_t at;                 // so much of it is sent
        Buf in;
} Connection;

typedef struct Submitter {
        Buf text;       // all requests
        uint64_t *ends; // [n] where in `text` the request ends
        uint64_t *took_us;
        uint64_t n, n_units, n_begun, n_answered;
        Connection *connections;
        uint64_t n_connections;
        int epoll;
} Submitter;

static void fail(const char *why) {
        fprintf(stderr, "http-client: %s\n", why);
        exit(EXIT_FAILURE);
}

static void check(int r, const char *what) {
        if (r < 0) {
                fprintf(stderr, "http-client: %s: %s\n", what, strerror(-r));
                exit(EXIT_FAILURE);
        }
}

static void *array_of(uint64_t n, size_t size) {
        void *array = calloc(n, size);

        if (!array)
                fail("out of memory");
        return array;
}

static void write_requests(Submitter *s, const char *template, uint64_t first) {
        _cleanup_buf_ Buf body = {};

        for (uint64_t i = 0; i < s->n; i++) {
                body.len = 0;
                for (uint64_t j = 0; j < s->n_units; j++)
                        check(buf_printf(&body,
                                         "{\"verb\":\"submit\",\"units\":[\"%s%" PRIu64 ".service\"]}\n",
                                         template, first + i * s->n_units + j),
                              "writing");
                check(buf_printf(
                              &s->text,
                              "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/%s\r\n"
                              "Content-Length: %zu\r\n\r\n",
                              s->n_units == 1 ? "json" : "x-ndjson", body.len),
                      "writing");
                check(buf_append(&s->text, body.data, body.len), "writing");
                s->ends[i] = s->text.len;
        }
}

static int dial(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (strlen(path) >= sizeof(a.sun_path))
                fail("the path of the socket is too long");
        memcpy(a.sun_path, path, strlen(path) + 1);
        check(fd < 0 ? -errno : 0, "socket");
        check(connect(fd, (struct sockaddr *) &a, sizeof(a)) < 0 ? -errno : 0, path);
        return fd;
}

static void dial_all(Submitter *s, const char *path) {
        s->epoll = epoll_create1(EPOLL_CLOEXEC);
        check(s->epoll < 0 ? -errno : 0, "epoll_create1");
        for (uint64_t i = 0; i < s->n_connections; i++) {
                Connection *c = &s->connections[i];
                struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};

                c->fd = dial(path);
                c->request = UINT64_MAX;
                check(epoll_ctl(s->epoll, EPOLL_CTL_ADD, c->fd, &e) < 0 ? -errno : 0, "epoll_ctl");
        }
}

static void watch(Submitter *s, Connection *c, uint32_t events) {
        struct epoll_event e = {.events = events, .data.ptr = c};

        check(epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e) < 0 ? -errno : 0, "epoll_ctl");
}

static void send_some(Submitter *s, Connection *c) {
        size_t end = s->ends[c->request];

        while (c->at < end) {
                ssize_t n = send(c->fd, s->text.data + c->at, end - c->at, MSG_NOSIGNAL | MSG_DONTWAIT);

                if (n < 0 && errno == EAGAIN) {
                        watch(s, c, EPOLLIN | EPOLLOUT);
                        return;
                }
                check(n < 0 ? -errno : 0, "send");
                c->at += (size_t) n;
        }
}

static void begin_next(Submitter *s, Connection *c) {
        if (s->n_begun == s->n) {
                c->request = UINT64_MAX;
                return;
        }
        c->request = s->n_begun++;
        c->at = c->request > 0 ? s->ends[c->request - 1] : 0;
        c->sent_us = clock_monotonic_us();
        send_some(s, c);
}

// Behind the front of the answer: its length, or SIZE_MAX: it comes in chunks.
static size_t length_of(const char *front, const char *end) {
        const char *at =
                memmem(front, (size_t) (end - front), "Content-Length: ", strlen("Content-Length: "));

        return at ? strtoul(at + strlen("Content-Length: "), NULL, 10) : SIZE_MAX;
}

static void check_taken(const Submitter *s, const Buf *in) {
        size_t n = 0;

        if (s->n_units == 1 && !memmem(in->data, in->len, " 202 ", 5))
                fail((const char *) in->data);
        for (const uint8_t *p = in->data;
             (p = memmem(p, in->len - (size_t) (p - in->data), "\"ok\":true", 9)); p++)
                n++;
        if (n != s->n_units)
                fail("a unit was not taken");
}

static bool is_whole(const Buf *in) {
        const char *text = (const char *) in->data,
                   *front = in->data ? memmem(in->data, in->len, "\r\n\r\n", 4) : NULL;
        size_t length;

        if (!front)
                return false;
        length = length_of(text, front);
        if (length == SIZE_MAX)
                return in->len >= 5 && memcmp(in->data + in->len - 5, "0\r\n\r\n", 5) == 0;
        return in->len >= (size_t) (front + 4 - text) + length;
}

static void receive_some(Submitter *s, Connection *c) {
        uint8_t *p = buf_reserve(&c->in, READ_BYTES);
        ssize_t n;

        if (!p)
                fail("out of memory");
        n = recv(c->fd, p, READ_BYTES, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
                return;
        check(n < 0 ? -errno : n == 0 ? -ECONNRESET : 0, "recv");
        c->in.len += (size_t) n;
        if (!is_whole(&c->in))
                return;
        if (c->request == UINT64_MAX)
                fail("an answer to nothing that was asked");
        check_taken(s, &c->in);
        s->took_us[c->request] = clock_monotonic_us() - c->sent_us;
        s->n_answered++;
        c->in.len = 0;
        begin_next(s, c);
}

static void run(Submitter *s) {
        struct epoll_event events[CONNECTIONS_MAX];

        for (uint64_t i = 0; i < s->n_connections; i++)
                begin_next(s, &s->connections[i]);
        while (s->n_answered < s->n) {
                int n = epoll_wait(s->epoll, events, CONNECTIONS_MAX, PATIENCE_MS);

                check(n < 0 ? -errno : n == 0 ? -ETIMEDOUT : 0, "epoll_wait");
                for (int i = 0; i < n; i++) {
                        Connection *c = events[i].data.ptr;

                        if (events[i].events & EPOLLOUT) {
                                watch(s, c, EPOLLIN);
                                send_some(s, c);
                        }
                        if (events[i].events & ~(uint32_t) EPOLLOUT)
                                receive_some(s, c);
                }
        }
}

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
        Submitter s = {};
        uint64_t first, began_us, took_us;

        if (argc != 7 || !parse_u64(argv[3], UINT32_MAX, &first) ||
            !parse_u64(argv[4], REQUESTS_MAX, &s.n) || s.n == 0 ||
            !parse_u64(argv[5], UNITS_MAX, &s.n_units) || s.n_units == 0 ||
            !parse_u64(argv[6], CONNECTIONS_MAX, &s.n_connections) || s.n_connections == 0)
                fail("usage: http-client SOCKET TEMPLATE FIRST REQUESTS UNITS CONNECTIONS");
        s.ends = array_of(s.n, sizeof(*s.ends));
        s.took_us = array_of(s.n, sizeof(*s.took_us));
        s.connections = array_of(s.n_connections, sizeof(*s.connections));
        write_requests(&s, argv[2], first);
        dial_all(&s, argv[1]);
        began_us = clock_monotonic_us();
        run(&s);
        took_us = clock_monotonic_us() - began_us;
        qsort(s.took_us, s.n, sizeof(*s.took_us), compare);
        printf("%.6f %" PRIu64 " %" PRIu64 "\n", (double) took_us / 1e6, s.took_us[s.n / 2],
               s.took_us[s.n * 99 / 100]);
        for (uint64_t i = 0; i < s.n_connections; i++) {
                close(s.connections[i].fd);
                buf_done(&s.connections[i].in);
        }
        close(s.epoll);
        buf_done(&s.text);
        free(s.connections);
        free(s.took_us);
        free(s.ends);
        return EXIT_SUCCESS;
}
