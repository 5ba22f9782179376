// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A message of D-Bus begins with: byte order 'l' or 'B', type, flags, version, length of the body (4 bytes),
// serial (4 bytes), length of the header's fields (4 bytes); the fields are padded to 8 bytes. Before the
// first message there are lines of text that end with "\r\n" and begin with another letter.

#include "bus-guard.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buf.h"

struct BusGuard {
        int from, to;
        uint64_t max;
        BusFraming framing;
        Buf held; // not passed on yet
};

// ---- the format

static uint32_t read_u32(const uint8_t *p, bool little) {
        return little ? (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 |
                                (uint32_t) p[3] << 24
                      : (uint32_t) p[3] | (uint32_t) p[2] << 8 | (uint32_t) p[1] << 16 |
                                (uint32_t) p[0] << 24;
}

static int begin_message(BusFraming *f, uint64_t max) {
        bool little = f->head[0] == 'l';
        uint64_t body = read_u32(f->head + 4, little), fields = read_u32(f->head + 12, little);

        f->n_head = 0;
        f->left = (fields + 7) / 8 * 8 + body;
        return sizeof(f->head) + f->left > max ? -EMSGSIZE : 0;
}

// One byte where neither a message's rest nor its first byte is.
static int take_text(BusFraming *f, uint8_t c) {
        if (c == '\n')
                f->n_line = 0;
        else if (f->n_line == 0 && (c < 'A' || c > 'Z'))
                return -EBADMSG;
        else if (++f->n_line > BUS_GUARD_LINE_MAX)
                return -EMSGSIZE;
        return 0;
}

int bus_framing_feed(BusFraming *f, const uint8_t *data, size_t len, uint64_t max) {
        int r = 0;

        while (len > 0 && r == 0) {
                size_t skip = (size_t) MIN_OF(f->left, (uint64_t) len);

                if (skip == 0) {
                        skip = 1;
                        if (f->n_head > 0 || (f->n_line == 0 && (*data == 'l' || *data == 'B'))) {
                                f->head[f->n_head++] = *data;
                                r = f->n_head == sizeof(f->head) ? begin_message(f, max) : 0;
                        } else
                                r = take_text(f, *data);
                } else
                        f->left -= skip;
                data += skip;
                len -= skip;
        }
        return r;
}

// ---- the guard

int bus_guard_new(int fd, uint64_t max, BusGuard **ret, int *ret_input) {
        BusGuard *g = calloc(1, sizeof(*g));
        int pair[2];

        if (!g)
                return -ENOMEM;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
                int r = -errno;

                free(g);
                return r;
        }
        *g = (BusGuard){.from = fd, .to = pair[1], .max = max};
        *ret_input = pair[0];
        *ret = g;
        return 0;
}

BusGuard *bus_guard_free(BusGuard *g) {
        if (!g)
                return NULL;
        close(g->to);
        buf_done(&g->held);
        free(g);
        return NULL;
}

static int read_more(BusGuard *g) {
        uint8_t *p = buf_reserve(&g->held, BUS_GUARD_PULL_BYTES);
        ssize_t n;
        int r;

        if (!p)
                return -ENOMEM;
        n = recv(g->from, p, BUS_GUARD_PULL_BYTES, MSG_DONTWAIT);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        if (n == 0)
                return -ECONNRESET;
        r = bus_framing_feed(&g->framing, p, (size_t) n, g->max);
        g->held.len += r == 0 ? (size_t) n : 0;
        return r;
}

ssize_t bus_guard_pull(BusGuard *g) {
        int r = g->held.len > 0 ? 0 : read_more(g);
        ssize_t n;

        if (r < 0)
                return r;
        if (g->held.len == 0) {
                buf_done(&g->held); // nothing is kept while nothing happens
                return 0;
        }
        n = send(g->to, g->held.data, g->held.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        buf_consume(&g->held, (size_t) n);
        return n;
}
