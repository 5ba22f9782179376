// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Accepts for ever. The socket is polled level-triggered and accepted from here, not by uv_listen(), so that
// each way in which accept(2) can fail has one answer: a broken connection is skipped, and everything else
// pauses for LISTENER_PAUSE_MS and is tried again.
//
// Each connection has a book entry (Conn) in one of two lists until its stream is gone:
//
//   greeting   handshake not done; the oldest first. Full: the backlog waits, and the oldest gives way once
//              it is LISTENER_EVICT_MS old, so that connections that say nothing cannot keep others out.
//   taken      somebody owns the stream. Counted only.
//
// Handshakes are arithmetic, about half a millisecond a step: LISTENER_STEPS_PER_TURN of them are done in
// one turn of the loop, the others wait in line. So a hundred hosts that all come back at once do not hold
// up what else the loop does.
//
// A closed listener stays until its greeting streams are gone; entries of taken streams then belong to
// nobody and free themselves.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "list.h"
#include "stream-internal.h"

enum { BACKLOG = 1024 };

struct Listener {
        uv_poll_t poll;
        uv_timer_t timer; // pause, or time to evict
        uv_loop_t *loop;
        int fd;
        uint16_t port; // 0: unix
        TlsContext *tls;
        const ListenerOps *ops;
        void *userdata;
        Drain drain; // the next turn's handshake steps
        ListNode greeting, taken, in_line;
        size_t n_greeting, n_taken;
        unsigned n_steps; // in this turn
        unsigned n_handles;
        bool closing, short_of_resources;
};

typedef struct Conn {
        ListNode link;
        ListNode line;      // in Listener.in_line, waiting to go on with its handshake
        Listener *listener; // NULL: closed since
        Stream *stream;
        uint64_t since_ms;
        bool taken;
} Conn;

static void update(Listener *l);

static void maybe_free(Listener *l) {
        ListNode *n;

        if (!l->closing || l->n_handles > 0 || l->n_greeting > 0)
                return;
        for (; (n = l->taken.next) != &l->taken; list_unlink(n))
                CONTAINER_OF(n, Conn, link)->listener = NULL;
        l->ops->closed(l, l->userdata);
        tls_context_unref(l->tls);
        free(l);
}

static void on_stream_gone(void *data) {
        Conn *c = data;
        Listener *l = c->listener;

        list_unlink(&c->link);
        list_unlink(&c->line);
        if (l) {
                (*(c->taken ? &l->n_taken : &l->n_greeting))--;
                update(l);
                maybe_free(l);
        }
        free(c);
}

// ---- streams on their way in

static bool may_shake(void *data) {
        Conn *c = data;
        Listener *l = c->listener;

        if (!l || l->closing)
                return true;
        drain_mark(&l->drain);
        if (l->n_steps < LISTENER_STEPS_PER_TURN && list_is_empty(&l->in_line)) {
                l->n_steps++;
                return true;
        }
        list_append(&l->in_line, &c->line);
        return false;
}

static const StreamHooks hooks = {.may_shake = may_shake, .on_free = on_stream_gone};

static void on_drain(void *userdata) {
        Listener *l = userdata;

        for (l->n_steps = 0; l->n_steps < LISTENER_STEPS_PER_TURN && !list_is_empty(&l->in_line);
             l->n_steps++) {
                Conn *c = CONTAINER_OF(l->in_line.next, Conn, line);

                list_unlink(&c->line);
                stream_handshake_on(c->stream);
                if (l->closing)
                        return;
        }
        if (l->n_steps > 0)
                drain_mark(&l->drain);
}

static void hand_over(Conn *c) {
        Listener *l = c->listener;

        list_unlink(&c->link);
        list_append(&l->taken, &c->link);
        l->n_greeting--;
        l->n_taken++;
        c->taken = true;
        l->ops->accepted(l, c->stream, l->userdata);
        update(l);
}

static const StreamOps greeting_ops;

static void on_greeted(Stream *s, void *userdata) {
        hand_over(userdata);
        if (s->ops == &greeting_ops) // no owner took it
                stream_close(s, 0, false);
}

static void on_greeting_closed(Stream *s, int error, void *userdata) {
        Conn *c = userdata;
        Listener *l = c->listener;

        if (l && !l->closing && !c->taken && l->ops->refused)
                l->ops->refused(l, stream_peer(s), *s->why ? s->why : strerror(-error), l->userdata);
}

static const StreamOps greeting_ops = {.opened = on_greeted, .closed = on_greeting_closed};

// Owns the fd.
static int admit(Listener *l, int fd, const struct sockaddr_storage *from) {
        Conn *c = calloc(1, sizeof(*c));
        int r;

        if (!c) {
                close(fd);
                return -ENOMEM;
        }
        *c = (Conn){.listener = l, .since_ms = uv_now(l->loop)};
        r = stream_new_accepted(l->loop, fd, from, l->tls, &greeting_ops, c, &c->stream);
        if (r < 0) {
                free(c);
                return r;
        }
        list_init(&c->line);
        stream_set_hooks(c->stream, &hooks, c);
        list_append(&l->greeting, &c->link);
        l->n_greeting++;
        if (!l->tls)
                on_greeted(c->stream, c);
        return 0;
}

// ---- when to accept

static void on_timer(uv_timer_t *timer) {
        Listener *l = timer->data;
        Conn *oldest = CONTAINER_OF(l->greeting.next, Conn, link);

        l->short_of_resources = false;
        if (l->n_greeting >= LISTENER_HANDSHAKES_MAX &&
            uv_now(l->loop) - oldest->since_ms >= LISTENER_EVICT_MS)
                stream_fail(oldest->stream, -ETIMEDOUT, false,
                            "too slow with its handshake while others wait");
        update(l);
}

static void pause_for(Listener *l, uint64_t ms) {
        uv_poll_stop(&l->poll);
        uv_timer_start(&l->timer, on_timer, ms, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events);

// Waits for what is missing, or accepts.
static void update(Listener *l) {
        if (l->closing || l->short_of_resources)
                return;
        if (l->n_greeting + l->n_taken >= LISTENER_STREAMS_MAX) // until one goes
                uv_poll_stop(&l->poll);
        else if (l->n_greeting >= LISTENER_HANDSHAKES_MAX) {
                uint64_t age = uv_now(l->loop) - CONTAINER_OF(l->greeting.next, Conn, link)->since_ms;

                pause_for(l, age < LISTENER_EVICT_MS ? LISTENER_EVICT_MS - age : 1);
        } else if (!uv_is_active((uv_handle_t *) &l->poll)) {
                uv_timer_stop(&l->timer);
                uv_poll_start(&l->poll, UV_READABLE, on_readable);
        }
}

static bool is_the_connections_fault(int error) {
        // accept(2) passes on errors of a connection that died in the backlog.
        switch (error) {
        case EINTR:
        case ECONNABORTED:
        case EPERM:
        case EPROTO:
        case ENETDOWN:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH:
                return true;
        default:
                return false;
        }
}

static void fall_short(Listener *l, int error) {
        char why[96];

        l->short_of_resources = true;
        pause_for(l, LISTENER_PAUSE_MS);
        snprintf(why, sizeof(why), "accepting pauses: %s", strerror(error));
        if (l->ops->refused)
                l->ops->refused(l, &(StreamPeer){}, why, l->userdata);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
        Listener *l = poll->data;

        // A status is an error pending on the socket; accept() tells which and clears it.
        for (int n = 0; n < LISTENER_ACCEPTS_PER_TURN && !l->closing && uv_is_active((uv_handle_t *) poll);
             n++) {
                struct sockaddr_storage from = {.ss_family = AF_UNIX};
                socklen_t len = sizeof(from);
                int fd, error, r;

                fd = accept4(l->fd, (struct sockaddr *) &from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
                error = errno;
                if (fd >= 0) {
                        r = admit(l, fd, &from);
                        if (r == -ENOMEM || r == -EMFILE)
                                fall_short(l, -r);
                } else if (error == EAGAIN)
                        return;
                else if (!is_the_connections_fault(error))
                        fall_short(l, error);
                update(l);
        }
}

// ---- making and closing

static int listener_new(uv_loop_t *loop, int fd, uint16_t port, TlsContext *tls, const ListenerOps *ops,
                        void *userdata, Listener **ret) {
        _cleanup_free_ Listener *l = calloc(1, sizeof(*l));
        int r;

        if (!l)
                return -ENOMEM;
        *l = (Listener){
                .loop = loop, .fd = fd, .port = port, .ops = ops, .userdata = userdata, .n_handles = 3};
        list_init(&l->greeting);
        list_init(&l->taken);
        list_init(&l->in_line);
        r = uvx_errno(uv_poll_init(loop, &l->poll, fd)); // makes it non-blocking
        if (r < 0)
                return r;
        (void) uv_timer_init(loop, &l->timer); // neither can fail
        (void) drain_init(&l->drain, loop, on_drain, l);
        l->poll.data = l->timer.data = l;
        l->tls = tls ? tls_context_ref(tls) : NULL;
        update(l);
        *ret = TAKE_PTR(l);
        return 0;
}

static int bind_any(int family, uint16_t port, int *ret_fd) {
        struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        bool is6 = family == AF_INET6;
        const int on = 1, off = 0;
        int fd, r;

        fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        (void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (is6)
                (void) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
        r = is6 ? bind(fd, (struct sockaddr *) &any6, sizeof(any6))
                : bind(fd, (struct sockaddr *) &any4, sizeof(any4));
        if (r < 0) {
                r = -errno;
                close(fd);
                return r;
        }
        *ret_fd = fd;
        return 0;
}

static int bound_port(int fd, uint16_t *ret) {
        struct sockaddr_storage address;
        socklen_t len = sizeof(address);

        if (getsockname(fd, (struct sockaddr *) &address, &len) < 0)
                return -errno;
        *ret = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *) &address)->sin6_port
                                                   : ((struct sockaddr_in *) &address)->sin_port);
        return 0;
}

int listener_bind_tcp(uint16_t port, int *ret_fd, uint16_t *ret_port) {
        int fd, r;

        r = bind_any(AF_INET6, port, &fd);
        if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
                r = bind_any(AF_INET, port, &fd);
        if (r < 0)
                return r;
        r = bound_port(fd, ret_port);
        if (r < 0)
                close(fd);
        else
                *ret_fd = fd;
        return r;
}

int listener_new_bound(uv_loop_t *loop, int fd, TlsContext *tls, const ListenerOps *ops, void *userdata,
                       Listener **ret) {
        uint16_t port;
        int r = bound_port(fd, &port);

        if (r >= 0 && listen(fd, BACKLOG) < 0)
                r = -errno;
        return r < 0 ? r : listener_new(loop, fd, port, tls, ops, userdata, ret);
}

int listener_new_tcp(uv_loop_t *loop, uint16_t port, TlsContext *tls, const ListenerOps *ops, void *userdata,
                     Listener **ret) {
        int fd, r = listener_bind_tcp(port, &fd, &port);

        if (r < 0)
                return r;
        r = listener_new_bound(loop, fd, tls, ops, userdata, ret);
        if (r < 0)
                close(fd);
        return r;
}

int listener_new_unix(uv_loop_t *loop, int fd, const ListenerOps *ops, void *userdata, Listener **ret) {
        return listener_new(loop, fd, 0, NULL, ops, userdata, ret);
}

static bool somebody_listens(const struct sockaddr_un *address) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        bool live;

        if (fd < 0)
                return true;
        live = connect(fd, (const struct sockaddr *) address, sizeof(*address)) == 0 || errno == EAGAIN;
        close(fd);
        return live;
}

// Nobody may connect before mode and group are right, therefore listen() comes last.
static int bind_path(int fd, const struct sockaddr_un *address, mode_t mode, gid_t gid) {
        if (bind(fd, (const struct sockaddr *) address, sizeof(*address)) < 0)
                return -errno;
        if (chmod(address->sun_path, mode) < 0)
                return -errno;
        if (gid != (gid_t) -1 && chown(address->sun_path, (uid_t) -1, gid) < 0)
                return -errno;
        return listen(fd, BACKLOG) < 0 ? -errno : 0;
}

int listener_bind_unix(const char *path, mode_t mode, gid_t gid, int *ret_fd) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        struct stat st;
        int fd, r;

        if (strlen(path) >= sizeof(address.sun_path))
                return -EINVAL;
        memcpy(address.sun_path, path, strlen(path) + 1);
        if (lstat(path, &st) == 0) {
                if (!S_ISSOCK(st.st_mode))
                        return -EEXIST;
                if (somebody_listens(&address))
                        return -EADDRINUSE;
                if (unlink(path) < 0 && errno != ENOENT)
                        return -errno;
        }
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        r = bind_path(fd, &address, mode, gid);
        if (r < 0) {
                close(fd);
                return r;
        }
        *ret_fd = fd;
        return 0;
}

uint16_t listener_port(const Listener *l) {
        return l->port;
}

static void on_handle_closed(uv_handle_t *handle) {
        Listener *l = handle->data;

        l->n_handles--;
        maybe_free(l);
}

static void on_drain_closed(uv_handle_t *handle) {
        Listener *l = CONTAINER_OF((uv_idle_t *) handle, Listener, drain.idle);

        l->n_handles--;
        maybe_free(l);
}

void listener_close(Listener *l) {
        if (l->closing)
                return;
        l->closing = true;
        uv_poll_stop(&l->poll);
        uv_close((uv_handle_t *) &l->poll, on_handle_closed);
        uv_close((uv_handle_t *) &l->timer, on_handle_closed);
        drain_close(&l->drain, on_drain_closed);
        close(l->fd);
        list_foreach_safe (n, &l->greeting)
                stream_close(CONTAINER_OF(n, Conn, link)->stream, 0, false);
}
