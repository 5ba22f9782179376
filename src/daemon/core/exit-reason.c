// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   accept all waiting clients -> each sends a request -> each gets a response with the reason
//       -> end when none is left
//
// There is no loop and no agent behind this: it is a few blocking calls with one deadline. A client that
// sends nothing until then is closed, and does not wait in the backlog any more.
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "argosy.pb-c.h"
#include "buf.h"
#include "clock.h"
#include "error-response.h"
#include "frame.h"
#include "exit-reason.h"
#include "local-api.h"
#include "macro.h"

enum { FAILURE_LOGS_MS = 1000, FAILURE_LOGS_CLIENTS_MAX = 256, READ_SIZE = 64 * 1024 };

typedef struct Listeners {
        struct pollfd fds[FAILURE_LOGS_CLIENTS_MAX + 1]; // the first is the listening socket
        Buf in[FAILURE_LOGS_CLIENTS_MAX + 1];
        size_t n;
} Listeners;

static void drop(Listeners *l, size_t i) {
        close(l->fds[i].fd);
        buf_done(&l->in[i]);
        l->n--;
        l->fds[i] = l->fds[l->n];
        l->in[i] = l->in[l->n];
}

static void answer(int fd, uint64_t id, const char *why) {
        Argosy__Response response = error_response(ENOTRECOVERABLE, why);
        _cleanup_buf_ Buf frame = {};

        response.id = id;
        if (frame_append(&frame, &response.base, FRAME_MAX_LOCAL) == 0)
                // far less than a socket holds
                (void) send(fd, frame.data, frame.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Whether it is done with.
static bool receive(int fd, Buf *in, const char *why) {
        uint8_t *p = buf_reserve(in, READ_SIZE);
        Argosy__Request *request;
        const uint8_t *payload;
        ssize_t got;
        size_t len;
        int r;

        got = p ? recv(fd, p, READ_SIZE, MSG_DONTWAIT) : 0;
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (got <= 0)
                return true;
        in->len += (size_t) got;
        r = frame_peek(in->data, in->len, API_SMALL_FRAME_MAX, &payload, &len);
        if (r == 0)
                return false;
        request =
                r > 0 ? (Argosy__Request *) frame_unpack(&argosy__request__descriptor, payload, len) : NULL;
        answer(fd, request ? request->id : 0, why);
        if (request)
                argosy__request__free_unpacked(request, NULL);
        return true;
}

static void accept_all(Listeners *l) {
        while (l->n < ELEMENTSOF(l->fds)) {
                struct pollfd waits = {.fd = l->fds[0].fd, .events = POLLIN};
                int fd = poll(&waits, 1, 0) > 0 ? accept4(waits.fd, NULL, NULL, SOCK_CLOEXEC) : -1;

                if (fd < 0)
                        return;
                l->in[l->n] = (Buf){};
                l->fds[l->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
}

// Answers who is there and who comes, until then; without `stay` not longer than somebody is there.
static void answer_until(Listeners *l, const char *why, bool stay, uint64_t until) {
        uint64_t now = clock_boot_us();

        while ((stay || l->n > 1) && now < until) {
                l->fds[0].events = l->n < ELEMENTSOF(l->fds) ? POLLIN : 0;
                if (poll(l->fds, l->n, (int) ((until - now) / USEC_PER_MSEC) + 1) < 0)
                        return;
                for (size_t i = l->n - 1; i > 0; i--)
                        if (l->fds[i].revents && receive(l->fds[i].fd, &l->in[i], why))
                                drop(l, i);
                accept_all(l);
                now = clock_boot_us();
        }
}

void exit_reason(int fd, const char *why, unsigned stay_ms) {
        static Listeners l;
        uint64_t until = clock_boot_us() + stay_ms * USEC_PER_MSEC;

        l = (Listeners){.fds = {{.fd = fd, .events = POLLIN}}, .n = 1};
        accept_all(&l);
        answer_until(&l, why, true, until);
        answer_until(&l, why, false, clock_boot_us() + FAILURE_LOGS_MS * USEC_PER_MSEC);
        while (l.n > 1)
                drop(&l, l.n - 1);
}
