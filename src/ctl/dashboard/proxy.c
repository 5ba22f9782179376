// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      HEAD      the browser's head is read
//      PASSES    to and fro, 64 KiB at a time: a side is read when the other has taken what there was, so a
//                slow client delays only itself
//      LINGERS   all was said; what still comes is read and dropped, since a kernel forgets what was said
//                last when it is not

#include "proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"

enum {
        PIPE_BYTES = 64 * 1024,
        LINGER_SEC = 2,
        PER_CONNECTION = 2,
        FIRST = 2
}; // of the descriptors: signals and listener, then two each

typedef enum Stage { HEAD, PASSES, LINGERS } Stage;

typedef struct Connection {
        Stage stage;
        int client, server; // server: -1, none
        uint64_t until_us;  // of HEAD and LINGERS
        uint64_t body_left; // of the request, to be read
        bool answered;      // something has come from argosyd
        bool said_all;      // nothing more comes from there
        Buf up, down;       // to argosyd, to the browser: what was read and not written yet
} Connection;

typedef struct Proxy {
        Door *door;
        const char *socket;
        Connection *connections[PROXY_CONNECTIONS_MAX];
        size_t n;
} Proxy;

static void connection_free(Connection *c) {
        close(c->client);
        if (c->server >= 0)
                close(c->server);
        buf_done(&c->up);
        buf_done(&c->down);
        free(c);
}

// ---- sockets

// Nonblocking. A descriptor, or -errno.
static int connect_to(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd, e;

        if (strlen(path) >= sizeof(a.sun_path))
                return -ENAMETOOLONG;
        memcpy(a.sun_path, path, strlen(path) + 1);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *) &a, sizeof(a)) == 0)
                return fd;
        e = errno;
        close(fd);
        return -e;
}

int proxy_try(const char *http_socket) {
        int fd = connect_to(http_socket);

        if (fd < 0)
                return fd;
        close(fd);
        return 0;
}

int proxy_listen(uint16_t *port) {
        struct sockaddr_in a = {
                .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(*port)};
        socklen_t size = sizeof(a);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, e;

        if (fd < 0)
                return -errno;
        if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
            bind(fd, (struct sockaddr *) &a, size) == 0 && listen(fd, PROXY_CONNECTIONS_MAX) == 0 &&
            getsockname(fd, (struct sockaddr *) &a, &size) == 0) {
                *port = ntohs(a.sin_port);
                return fd;
        }
        e = errno;
        close(fd);
        return -e;
}

// ---- one connection: each returns false when it is over

static bool linger(Connection *c) {
        if (shutdown(c->client, SHUT_WR) < 0)
                return false;
        c->stage = LINGERS;
        c->until_us = clock_boot_us() + LINGER_SEC * USEC_PER_SEC;
        return true;
}

static bool answer(Connection *c, unsigned status, const char *why) {
        c->stage = PASSES;
        c->said_all = true;
        c->body_left = 0;
        c->up.len = 0;
        return door_refuse(status, why, &c->down) == 0;
}

static bool pass(Proxy *p, Connection *c, const char *head, size_t len) {
        DoorAnswer a;
        Buf out = {};
        size_t behind = c->up.len - len, body;
        int verdict = door_judge(p->door, head, len, &out, &a);

        c->stage = PASSES;
        c->until_us = 0;
        if (verdict != DOOR_PASS) {
                buf_done(&c->down);
                c->down = out;
                c->said_all = true;
                c->up.len = 0;
                return verdict >= 0;
        }
        body = behind < a.body ? behind : (size_t) a.body;
        c->body_left = a.body - body;
        if (buf_append(&out, head + len, body) < 0) {
                buf_done(&out);
                return false;
        }
        buf_done(&c->up);
        c->up = out;
        c->server = connect_to(p->socket);
        return c->server >= 0 || answer(c, 502, "argosyd of this host does not answer");
}

static bool read_head(Proxy *p, Connection *c) {
        uint8_t *room = buf_reserve(&c->up, DOOR_HEAD_MAX);
        ssize_t n = room ? recv(c->client, room, DOOR_HEAD_MAX, 0) : -1;
        size_t len;

        if (n <= 0)
                return n < 0 && (errno == EAGAIN || errno == EINTR) && room;
        c->up.len += (size_t) n;
        len = door_head_length((const char *) c->up.data, c->up.len);
        if (len == 0 ? c->up.len >= DOOR_HEAD_MAX : len > DOOR_HEAD_MAX)
                return answer(c, 431, "the head of the request is too long");
        return len == 0 || pass(p, c, (const char *) c->up.data, len);
}

// Reads into an empty buffer, at most so many bytes. How many; 0: the end; -EAGAIN or what else went wrong.
static ssize_t fill(int fd, Buf *b, size_t most) {
        uint8_t *room = buf_reserve(b, PIPE_BYTES);
        ssize_t n = room ? recv(fd, room, most < PIPE_BYTES ? most : PIPE_BYTES, 0) : -1;

        if (!room)
                return -ENOMEM;
        if (n < 0)
                return errno == EINTR ? -EAGAIN : -errno;
        b->len += (size_t) n;
        return n;
}

static bool empty(int fd, Buf *b) {
        ssize_t n = send(fd, b->data, b->len, MSG_NOSIGNAL);

        if (n < 0)
                return errno == EAGAIN || errno == EINTR;
        buf_consume(b, (size_t) n);
        return true;
}

static bool on_server(Connection *c, short events) {
        ssize_t n;

        if (events & POLLOUT && c->up.len > 0 && !empty(c->server, &c->up)) {
                c->up.len = 0; // it has heard enough, and says why
                c->body_left = 0;
        }
        if (!(events & (POLLIN | POLLHUP | POLLERR)) || c->down.len > 0)
                return true;
        n = fill(c->server, &c->down, PIPE_BYTES);
        if (n > 0)
                c->answered = true;
        else if (n != -EAGAIN && !c->answered)
                return answer(c, 502, "argosyd of this host has ended without an answer");
        else if (n != -EAGAIN)
                c->said_all = true;
        return true;
}

static bool on_client(Proxy *p, Connection *c, short events) {
        ssize_t n;

        if (c->stage == HEAD)
                return read_head(p, c);
        if (c->stage == LINGERS) {
                uint8_t dropped[4096];

                n = recv(c->client, dropped, sizeof(dropped), 0);
                return n > 0 || (n < 0 && errno == EAGAIN);
        }
        if (events & (POLLRDHUP | POLLHUP | POLLERR)) // the browser does not read any more
                return false;
        if (events & POLLOUT && c->down.len > 0 && !empty(c->client, &c->down))
                return false;
        if (!(events & POLLIN) || c->body_left == 0 || c->up.len > 0)
                return true;
        n = fill(c->client, &c->up, c->body_left < PIPE_BYTES ? (size_t) c->body_left : PIPE_BYTES);
        if (n > 0)
                c->body_left -= (uint64_t) n;
        return n > 0 || n == -EAGAIN;
}

static void fill_polls(const Connection *c, struct pollfd ret[PER_CONNECTION]) {
        bool reads = c->stage != PASSES || (c->body_left > 0 && c->up.len == 0);

        ret[0] = (struct pollfd){
                .fd = c->client,
                .events = (short) (POLLRDHUP | (reads ? POLLIN : 0) | (c->down.len > 0 ? POLLOUT : 0))};
        ret[1] = (struct pollfd){
                .fd = c->stage == PASSES && !c->said_all ? c->server : -1,
                .events = (short) ((c->down.len == 0 ? POLLIN : 0) | (c->up.len > 0 ? POLLOUT : 0))};
        if (c->stage != PASSES)
                ret[0].events &= ~POLLRDHUP; // what was said before the end counts
        if (c->down.len > 0 && c->up.len == 0)
                ret[1].fd = -1; // nothing to wait for there; that it has ended can wait, too
}

static bool step(Proxy *p, Connection *c, const struct pollfd polls[PER_CONNECTION], uint64_t now_us) {
        if (polls[1].fd >= 0 && polls[1].revents && !on_server(c, polls[1].revents))
                return false;
        if (polls[0].revents && !on_client(p, c, polls[0].revents))
                return false;
        if (c->stage == PASSES && c->said_all && c->down.len == 0)
                return linger(c);
        return c->until_us == 0 || now_us < c->until_us;
}

// ---- all of them

static void accept_one(Proxy *p, int listener) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        Connection *c;

        if (fd < 0) // it has gone again
                return;
        c = calloc(1, sizeof(*c));
        if (!c) {
                close(fd);
                return;
        }
        *c = (Connection){
                .client = fd, .server = -1, .until_us = clock_boot_us() + PROXY_HEAD_SEC * USEC_PER_SEC};
        p->connections[p->n++] = c;
}

static int timeout_ms(const Proxy *p) {
        uint64_t next = UINT64_MAX, now = clock_boot_us();

        for (size_t i = 0; i < p->n; i++)
                if (p->connections[i]->until_us > 0 && p->connections[i]->until_us < next)
                        next = p->connections[i]->until_us;
        return next == UINT64_MAX ? -1 : next <= now ? 0 : (int) ((next - now) / USEC_PER_MSEC + 1);
}

static int run(Proxy *p, int listener, int signals) {
        struct pollfd polls[FIRST + PER_CONNECTION * PROXY_CONNECTIONS_MAX];

        for (;;) {
                size_t n = p->n, kept = 0;
                uint64_t now;

                polls[0] = (struct pollfd){.fd = signals, .events = POLLIN};
                polls[1] =
                        (struct pollfd){.fd = n < PROXY_CONNECTIONS_MAX ? listener : -1, .events = POLLIN};
                for (size_t i = 0; i < n; i++)
                        fill_polls(p->connections[i], polls + FIRST + PER_CONNECTION * i);
                if (poll(polls, FIRST + PER_CONNECTION * n, timeout_ms(p)) < 0 && errno != EINTR)
                        return -errno;
                if (polls[0].revents)
                        return 0;
                now = clock_boot_us();
                for (size_t i = 0; i < n; i++) {
                        Connection *c = p->connections[i];

                        if (step(p, c, polls + FIRST + PER_CONNECTION * i, now))
                                p->connections[kept++] = c;
                        else
                                connection_free(c);
                }
                p->n = kept;
                if (polls[1].fd >= 0 && polls[1].revents)
                        accept_one(p, listener);
        }
}

int proxy_run(Door *d, int listener, const char *http_socket) {
        Proxy p = {.door = d, .socket = http_socket};
        sigset_t set, before;
        int signals, r;

        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        sigprocmask(SIG_BLOCK, &set, &before);
        signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        r = signals < 0 ? -errno : run(&p, listener, signals);
        while (p.n > 0)
                connection_free(p.connections[--p.n]);
        if (signals >= 0) {
                struct signalfd_siginfo taken;

                while (read(signals, &taken, sizeof(taken)) > 0)
                        ;
                close(signals);
        }
        sigprocmask(SIG_SETMASK, &before, NULL);
        return r;
}
