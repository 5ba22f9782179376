// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Submits instances of a template that the cluster knows, over one connection to argosyd's local socket,
// with so many requests under way at a time, each naming so many units.
//
//   submit-client SOCKET TEMPLATE FIRST REQUESTS UNITS IN_FLIGHT
//       REQUESTS requests, the first for the instances FIRST to FIRST + UNITS - 1 of TEMPLATE ("load@"), the
//       next ones for
//       those that follow. Prints the seconds from the first byte sent to the last answer read, and the
//       median and the
//       99th percentile of the microseconds from a request to the end of its answer.
//
// All requests are packed before the clock starts: what is measured is argosyd, not how fast its client
// packs. Whatever is not a success ends the program, since a refusal is cheaper than what is to be measured.

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "clock.h"
#include "frame.h"
#include "macro.h"
#include "str.h"

enum {
        ID_BYTES = 16,
        NAME_BYTES = 64,
        READ_BYTES = 64 * 1024,
        PATIENCE_MS = 60 * 1000,
        REQUESTS_MAX = 1000 * 1000,
        UNITS_MAX = 100 * 1000,
        IN_FLIGHT_MAX = 64, // what one connection may have (API_CALLS_MAX)
};

typedef struct Submitter {
        int fd;
        Buf packed;        // all requests, one frame after the other
        uint64_t *ends;    // [n] where in `packed` the request ends
        uint64_t *sent_us; // [n] when; and how long it took, once it is answered
        uint64_t n, n_units, in_flight;
        uint64_t n_begun, n_answered, at; // `at`: so much of `packed` is sent
        Buf in;
} Submitter;

static void fail(const char *why) {
        fprintf(stderr, "submit-client: %s\n", why);
        exit(EXIT_FAILURE);
}

static void check(int r, const char *what) {
        if (r < 0) {
                fprintf(stderr, "submit-client: %s: %s\n", what, strerror(-r));
                exit(EXIT_FAILURE);
        }
}

static void *array_of(uint64_t n, size_t size) {
        void *array = calloc(n, size);

        if (!array)
                fail("out of memory");
        return array;
}

// The numbers of requests are their ids, from 1.
static void pack(Submitter *s, const char *template, uint64_t first) {
        char(*names)[NAME_BYTES] = array_of(s->n_units, NAME_BYTES);
        char **pointers = array_of(s->n_units, sizeof(char *));
        uint8_t id[ID_BYTES];
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        change.verb = ARGOSY__VERB__VERB_SUBMIT;
        change.id = (ProtobufCBinaryData) {.data = id, .len = sizeof(id)};
        change.names = pointers;
        change.n_names = s->n_units;
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        for (uint64_t i = 0; i < s->n; i++) {
                for (uint64_t j = 0; j < s->n_units; j++) {
                        snprintf(names[j], NAME_BYTES, "%s%" PRIu64 ".service", template,
                                 first + i * s->n_units + j);
                        pointers[j] = names[j];
                }
                if (getrandom(id, sizeof(id), 0) != sizeof(id))
                        fail("no random bytes");
                request.id = i + 1;
                check(frame_append(&s->packed, &request.base, FRAME_MAX_LOCAL), "packing");
                s->ends[i] = s->packed.len;
        }
        free(pointers);
        free(names);
}

static int dial(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (strlen(path) >= sizeof(a.sun_path))
                fail("the path of the socket is too long");
        memcpy(a.sun_path, path, strlen(path) + 1);
        check(fd < 0 ? -errno : 0, "socket");
        check(connect(fd, (struct sockaddr *) &a, sizeof(a)) < 0 ? -errno : 0, path);
        return fd;
}

// Begins as many as may be under way, and sends what the socket takes of them.
static void send_some(Submitter *s) {
        while (s->n_begun < s->n && s->n_begun - s->n_answered < s->in_flight)
                s->sent_us[s->n_begun++] = clock_monotonic_us();
        while (s->n_begun > 0 && s->at < s->ends[s->n_begun - 1]) {
                ssize_t n =
                        send(s->fd, s->packed.data + s->at, s->ends[s->n_begun - 1] - s->at, MSG_NOSIGNAL);

                if (n < 0 && errno == EAGAIN)
                        return;
                check(n < 0 ? -errno : 0, "send");
                s->at += (uint64_t) n;
        }
}

static void take(Submitter *s, const Argosy__Response *m) {
        if (m->status != 0)
                fail(m->message);
        if (m->id == 0 || m->id > s->n_begun)
                fail("an answer to nothing that was asked");
        for (size_t i = 0; m->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && i < m->change->n_units; i++)
                if (m->change->units[i]->status != 0)
                        fail(m->change->units[i]->message);
        if (!m->final)
                return;
        s->sent_us[m->id - 1] = clock_monotonic_us() - s->sent_us[m->id - 1];
        s->n_answered++;
}

static void take_all(Submitter *s) {
        const uint8_t *payload;
        size_t len, used = 0;
        int r;

        for (; (r = frame_peek(s->in.data + used, s->in.len - used, FRAME_MAX_LOCAL, &payload, &len)) > 0;
             used += FRAME_HEADER_SIZE + len) {
                Argosy__Response *m = argosy__response__unpack(NULL, len, payload);

                if (!m)
                        fail("an answer that cannot be read");
                take(s, m);
                argosy__response__free_unpacked(m, NULL);
        }
        check(r, "the front of an answer");
        buf_consume(&s->in, used);
}

static void receive_some(Submitter *s) {
        uint8_t *p = buf_reserve(&s->in, READ_BYTES);
        ssize_t n;

        if (!p)
                fail("out of memory");
        n = recv(s->fd, p, READ_BYTES, 0);
        if (n < 0 && errno == EAGAIN)
                return;
        check(n < 0 ? -errno : n == 0 ? -ECONNRESET : 0, "recv");
        s->in.len += (size_t) n;
        take_all(s);
}

static void run(Submitter *s) {
        while (s->n_answered < s->n) {
                struct pollfd p = {.fd = s->fd, .events = POLLIN};
                int n;

                send_some(s);
                if (s->at < s->ends[s->n_begun - 1])
                        p.events |= POLLOUT;
                n = poll(&p, 1, PATIENCE_MS);
                check(n < 0 ? -errno : n == 0 ? -ETIMEDOUT : 0, "poll");
                if (p.revents & ~POLLOUT)
                        receive_some(s);
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
            !parse_u64(argv[6], IN_FLIGHT_MAX, &s.in_flight) || s.in_flight == 0)
                fail("usage: submit-client SOCKET TEMPLATE FIRST REQUESTS UNITS IN_FLIGHT");
        s.ends = array_of(s.n, sizeof(*s.ends));
        s.sent_us = array_of(s.n, sizeof(*s.sent_us));
        pack(&s, argv[2], first);
        s.fd = dial(argv[1]);
        began_us = clock_monotonic_us();
        run(&s);
        took_us = clock_monotonic_us() - began_us;
        qsort(s.sent_us, s.n, sizeof(*s.sent_us), compare);
        printf("%.6f %" PRIu64 " %" PRIu64 "\n", (double) took_us / 1e6, s.sent_us[s.n / 2],
               s.sent_us[s.n * 99 / 100]);
        close(s.fd);
        buf_done(&s.in);
        buf_done(&s.packed);
        free(s.sent_us);
        free(s.ends);
        return EXIT_SUCCESS;
}
