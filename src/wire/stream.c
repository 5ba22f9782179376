// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The life of a stream, and the way in. The way out is stream-write.c, TLS is stream-tls.c, names are looked
// up in stream-lookup.c.
//
//   CONNECTING -> HANDSHAKING (TLS) -> OPEN -> FLUSHING -> LINGERING -> CLOSED
//
// Any state may go to CLOSED directly. CLOSED means that the libuv handles are closing; the last close
// callback calls `closed` and frees the stream. Each step that may call the owner checks the state
// afterwards, since the owner may close from any callback.
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "frame.h"
#include "pool.h"
#include "str.h"
#include "stream-internal.h"

enum { // keep-alive: silence, then probes; a dead peer is found after 2 + 3 * 1 seconds
        KEEPALIVE_IDLE_S = 2,
        KEEPALIVE_INTERVAL_S = 1,
        KEEPALIVE_PROBES = 3,
};

// ---- the end

static void run_retire(PoolWork *w) {
        buf_done(&CONTAINER_OF(w, Stream, retiring)->plain_in);
}

static void on_retired(PoolWork *w) {
        stream_release(CONTAINER_OF(w, Stream, retiring));
}

// Overwriting and giving back megabytes takes milliseconds: the pool does it, and the account is told when
// they are gone.
static bool retire(Stream *s) {
        if (s->plain_in.len <= STREAM_RETIRED)
                return false;
        s->n_handles++;
        pool_add(s->handle.loop, &s->retiring, POOL_LATER, run_retire, on_retired);
        return true;
}

void stream_release(Stream *s) {
        if (--s->n_handles > 0 || retire(s))
                return;
        if (s->ops)
                s->ops->closed(s, s->error, s->userdata);
        if (s->hooks)
                s->hooks->on_free(s->hooks_data);
        tls_session_free(s->tls);
        buf_done(&s->wire_in);
        buf_done(&s->plain_in);
        stream_drop_queue(s);
        buf_done(&s->wire_out);
        buf_done(&s->flight);
        free(s);
}

static void on_handle_closed(uv_handle_t *handle) {
        stream_release(handle->data);
}

static void on_drain_closed(uv_handle_t *handle) {
        handle->data = CONTAINER_OF((uv_idle_t *) handle, Stream, drain.idle);
        on_handle_closed(handle);
}

static void on_limit_closed(uv_handle_t *handle) {
        handle->data = CONTAINER_OF((uv_timer_t *) handle, Stream, limit.timer);
        on_handle_closed(handle);
}

static void destroy(Stream *s) {
        if (s->state == STREAM_CLOSED)
                return;
        s->state = STREAM_CLOSED;
        stream_share_leave(s);
        stream_lookup_forget(s);
        stream_unpack_forget(s);
        uv_close(&s->handle, on_handle_closed);
        time_limit_close(&s->limit, on_limit_closed);
        drain_close(&s->drain, on_drain_closed);
}

static void on_flush_timeout(void *userdata) {
        destroy(userdata);
}

static void on_shutdown(uv_shutdown_t *request, int status) {
        Stream *s = request->data;

        if (status < 0 && s->state != STREAM_CLOSED)
                destroy(s);
}

void stream_linger(Stream *s) {
        if (s->tls && s->opened && !s->sent_bye) {
                s->sent_bye = true;
                stream_tls_bye(s);
                stream_flush(s);
                return;
        }
        s->state = STREAM_LINGERING;
        s->shutdown.data = s;
        if (s->eof || uv_shutdown(&s->shutdown, &s->stream, on_shutdown) < 0)
                destroy(s);
}

static void start_reading(Stream *s);

void stream_close(Stream *s, int error, bool flush) {
        bool may_flush = s->state > STREAM_CONNECTING && s->write_error == 0;

        if (s->state < STREAM_FLUSHING)
                s->error = error;
        else if (flush)
                return;
        if (!flush || !may_flush) {
                destroy(s);
                return;
        }
        if (!s->opened)
                stream_drop_queue(s);
        s->state = STREAM_FLUSHING;
        if ((s->paused || s->unpack || s->had_its_turn) && !s->eof)
                start_reading(s);
        stream_share_leave(s);
        stream_unpack_forget(s);
        time_limit_start(&s->limit, STREAM_FLUSH_MS, on_flush_timeout);
        stream_flush(s); // now: the loop may stand still next, and those who wait hear it nevertheless
}

void stream_fail(Stream *s, int error, bool notify_peer, const char *format, ...) {
        va_list ap;

        if (stream_is_closing(s))
                return;
        va_start(ap, format);
        str_vfit(s->why, sizeof(s->why), format, ap);
        va_end(ap);
        stream_close(s, error, notify_peer);
}

// ---- the way in

// The frame is made a message of, now or later. Negative errno: the stream is to end; 1.
static int call_message(Stream *s, size_t *done, const uint8_t *payload, size_t len) {
        bool is_long = stream_unpack_is_long(s, payload, len), counted = false;
        size_t cost = 0;
        int r;

        if (!is_long && s->ops->unpacks) {
                r = stream_unpack_count(s, payload, len, &cost);
                if (r < 0)
                        return r;
                counted = true;
        }
        if (!is_long && cost <= STREAM_UNPACK_COST) {
                *done += FRAME_HEADER_SIZE + len;
                r = stream_unpack(s, payload, len);
                return r < 0 ? r : 1;
        }
        r = stream_unpack_later(s, *done, len, counted);
        if (r < 0)
                return r;
        *done = 0;
        uv_read_stop(&s->stream);
        return 1;
}

static int call_frame(Stream *s, size_t *done) {
        const uint8_t *payload;
        size_t len;
        int r;

        r = frame_peek(s->plain_in.data + *done, s->plain_in.len - *done, s->frame_max, &payload, &len);
        if (r < 0 && s->ops->unpacks)
                (void) s->ops->unpacks(s, SIZE_MAX, s->userdata);
        if (r < 0)
                stream_fail(s, r, false, "a frame is longer than the %zu bytes allowed", s->frame_max);
        if (r <= 0)
                return r;
        if (s->message_kind)
                return call_message(s, done, payload, len);
        *done += FRAME_HEADER_SIZE + len;
        r = s->ops->frame ? s->ops->frame(s, payload, len, s->userdata) : -EPROTO;
        return r < 0 ? r : 1;
}

static int call_data(Stream *s, size_t *done) {
        size_t from = *done;
        int r;

        *done = s->plain_in.len;
        r = s->ops->data ? s->ops->data(s, s->plain_in.data + from, s->plain_in.len - from, s->userdata)
                         : -EPROTO;
        return r < 0 ? r : 1;
}

static bool has_something(const Stream *s, size_t done) {
        return s->unpack ? stream_unpack_is_done(s) : s->plain_in.len > done;
}

static int call_next(Stream *s, size_t *done) {
        int r;

        if (!s->unpack)
                return s->frame_max > 0 ? call_frame(s, done) : call_data(s, done);
        r = stream_unpack_take(s);
        return r < 0 ? r : 1;
}

// The owner hears how much lies here, before that grows. False: it does not want so much, and the stream has
// failed.
static bool hold(Stream *s, size_t bytes) {
        int r;

        if (s->state != STREAM_OPEN || !s->ops->holds || bytes == s->held)
                return true;
        r = s->ops->holds(s, bytes, s->userdata);
        if (r < 0)
                stream_fail(s, r, false, "%zu bytes of the peer's are too many: %s", bytes, strerror(-r));
        else
                s->held = bytes;
        return r >= 0;
}

// `anew`: whatever it awaited before is there.
static void await_rest(Stream *s, bool anew) {
        bool half = s->plain_in.len > 0 && !s->paused && !s->unpack;

        if (s->frame_ms == 0 || s->state != STREAM_OPEN || (half == s->awaits_rest && !(half && anew)))
                return;
        s->awaits_rest = half;
        stream_set_deadline(s, half ? s->frame_ms : 0);
}

// What is left of what has come, and whatever comes, waits for the next turn.
static void let_others_go_on(Stream *s) {
        if (s->state != STREAM_OPEN)
                return;
        s->had_its_turn = true;
        uv_read_stop(&s->stream);
        stream_share_wait(s);
}

// A member's long frame gets its place at once: what grows by doubling is copied again and again, and takes
// twice as much in the end. What is read with its end has room behind it. A guest has announced it only: it
// gets that place when so much has come that its owner has been told of. What of the place is not used yet
// takes no memory.
static void make_room(Stream *s) {
        const uint8_t *p = s->plain_in.data;
        size_t announced;

        if (s->frame_max == 0 ||
            s->plain_in.len < (s->ops->unpacks ? (size_t) STREAM_GUEST_ROOM : (size_t) FRAME_HEADER_SIZE))
                return;
        announced = (size_t) p[0] << 24 | (size_t) p[1] << 16 | (size_t) p[2] << 8 | (size_t) p[3];
        if (announced > STREAM_READ_SIZE && announced <= s->frame_max)
                // or it grows, as far as it can
                (void) buf_fit(&s->plain_in, FRAME_HEADER_SIZE + announced + STREAM_READ_SIZE);
}

// Gives the owner what is there. The owner may pause, close, change the way of cutting or the owner in each
// call.
static void deliver(Stream *s) {
        size_t done = 0;
        int r = 1;

        while (r > 0 && s->state == STREAM_OPEN && !s->paused && has_something(s, done) &&
               stream_may_give(s, done)) {
                r = call_next(s, &done);
                stream_count_given(s);
        }
        if (!stream_may_give(s, done))
                let_others_go_on(s);
        else
                stream_share_leave(s);
        if (r < 0)
                stream_fail(s, r, false, "the peer sent something that we cannot take: %s", strerror(-r));
        buf_consume(&s->plain_in, done);
        if (s->plain_in.len == 0)
                buf_done(&s->plain_in);
        make_room(s);
        (void) hold(s, s->plain_in.len + stream_unpack_held(s));
        await_rest(s, done > 0);
        if (s->eof && !s->paused && !s->unpack && !s->had_its_turn)
                stream_fail(s, -ECONNRESET, false, "the peer closed the connection");
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret) {
        static _Thread_local uint8_t shared[STREAM_READ_SIZE]; // empty again when on_read() returns

        *ret = uv_buf_init((char *) shared, sizeof(shared));
}

static void on_read_end(Stream *s, int error) {
        uv_read_stop(&s->stream);
        s->eof = true;
        if (stream_is_closing(s)) {
                if (s->state == STREAM_LINGERING)
                        destroy(s);
        } else if (s->write_error < 0 || error != UV_EOF) {
                int r = s->write_error < 0 ? s->write_error : uvx_errno(error);

                stream_fail(s, r, false, "connection lost: %s", strerror(-r));
        } else if (!s->opened)
                stream_fail(s, -ECONNRESET, false, "the peer closed the connection during the handshake");
        else {
                stream_share_begin(s);
                deliver(s);
        }
}

// What was read goes as far as it can.
static void take_in(Stream *s) {
        stream_share_begin(s);
        if (s->tls)
                stream_tls_step(s);
        if (s->state == STREAM_OPEN)
                deliver(s);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
        Stream *s = stream->data;
        int r;

        if (n < 0) {
                on_read_end(s, (int) n);
                return;
        }
        if (n == 0 || stream_is_closing(s)) // what comes while we linger is read to be thrown away
                return;
        if (!s->tls && s->plain_in.len > 0 && !hold(s, s->plain_in.len + (size_t) n))
                return;
        s->plain_in.secret = true; // what comes may be secret
        r = buf_append(s->tls ? &s->wire_in : &s->plain_in, buf->base, (size_t) n);
        if (!s->tls)
                explicit_bzero(buf->base, (size_t) n);
        if (r < 0) {
                stream_fail(s, -ENOMEM, false, "out of memory");
                return;
        }
        if (s->state == STREAM_HANDSHAKING && s->hooks && !s->hooks->may_shake(s->hooks_data)) {
                uv_read_stop(&s->stream);
                return;
        }
        take_in(s);
        if (n == STREAM_READ_SIZE && !stream_may_read_on(s))
                let_others_go_on(s); // libuv would read 32 times as much
}

void stream_handshake_on(Stream *s) {
        if (s->state != STREAM_HANDSHAKING)
                return;
        start_reading(s);
        take_in(s);
}

static void start_reading(Stream *s) {
        int r = uv_read_start(&s->stream, on_alloc, on_read);

        if (r < 0 && r != UV_EALREADY)
                stream_fail(s, uvx_errno(r), false, "cannot read: %s", strerror(-uvx_errno(r)));
}

void stream_pause(Stream *s, bool pause) {
        if (s->paused == pause)
                return;
        s->paused = pause;
        if (stream_is_closing(s) || !s->opened)
                return;
        if (pause)
                uv_read_stop(&s->stream);
        else {
                if (!s->eof && (!s->unpack || stream_unpack_is_done(s)))
                        start_reading(s);
                drain_mark(&s->drain); // what was kept back
        }
}

void stream_go_on(Stream *s) {
        if (s->paused)
                return; // stream_pause() finds it
        stream_share_begin(s);
        deliver(s);
        if (s->state == STREAM_OPEN && !s->paused && !s->eof && !s->unpack && !s->had_its_turn)
                start_reading(s);
        if (s->had_its_turn && !list_is_linked(&s->line))
                drain_mark(&s->drain); // it left the line of guests before that came to it
}

// What was kept back, as far as this turn has room for it.
static void go_on(Stream *s) {
        bool had_its_turn = s->had_its_turn;

        if (!stream_share_may_go_on(s))
                return;
        s->had_its_turn = false;
        s->n_given = 0;
        stream_share_begin(s);
        if (s->state == STREAM_OPEN)
                deliver(s);
        if (had_its_turn && !s->had_its_turn && s->state == STREAM_OPEN && !s->paused && !s->unpack &&
            !s->eof)
                start_reading(s);
}

static void on_drain(void *userdata) {
        Stream *s = userdata, *next;

        go_on(s);
        stream_flush(s);
        while ((next = stream_share_next(s)))
                go_on(next);
}

// ---- the beginning

static void set_tcp_options(int fd) {
        const int on = 1, idle = KEEPALIVE_IDLE_S, interval = KEEPALIVE_INTERVAL_S,
                  probes = KEEPALIVE_PROBES;
        const unsigned timeout_ms = STREAM_USER_TIMEOUT_MS, unsent = STREAM_UNSENT_MAX;

        // None of them can fail on a TCP socket, and a connection without them would still be one.
        (void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        (void) setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
}

static int learn_peer(Stream *s) {
        struct ucred cred;
        socklen_t len = sizeof(cred);
        int fd, r;

        r = uv_fileno(&s->handle, &fd);
        if (r < 0)
                return uvx_errno(r);
        if (s->handle.type == UV_TCP) {
                set_tcp_options(fd);
                return 0;
        }
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
                return -errno;
        s->peer.uid = cred.uid;
        s->peer.gid = cred.gid;
        s->peer.pid = cred.pid;
        return 0;
}

static void on_handshake_timeout(void *userdata) {
        Stream *s = userdata;

        stream_fail(s, -ETIMEDOUT, false,
                    s->state == STREAM_CONNECTING ? "no answer within %d ms"
                                                  : "no TLS handshake within %d ms",
                    STREAM_HANDSHAKE_MS);
}

static void on_deadline(void *userdata) {
        stream_fail(userdata, -ETIMEDOUT, false, "the peer did not say what it must in time");
}

void stream_set_deadline(Stream *s, unsigned ms) {
        if (s->state != STREAM_OPEN || s->write_error < 0) // the limit is in use
                return;
        if (ms > 0)
                time_limit_start(&s->limit, ms, on_deadline);
        else
                time_limit_stop(&s->limit);
}

void stream_set_frame_deadline(Stream *s, unsigned ms) {
        s->frame_ms = ms;
}

void stream_set_cost_max(Stream *s, size_t bytes) {
        s->cost_max = bytes;
}

void stream_set_sender(Stream *s, const void *of, size_t untold) {
        s->sender = of;
        s->untold = untold;
}

void stream_set_open(Stream *s) {
        s->state = STREAM_OPEN;
        s->opened = true;
        time_limit_stop(&s->limit);
        if (s->paused)
                uv_read_stop(&s->stream);
        drain_mark(&s->drain); // what was queued before
        if (s->ops->opened)
                s->ops->opened(s, s->userdata);
}

static void on_connected(uv_connect_t *request, int status) {
        Stream *s = request->data;
        int r = uvx_errno(status);

        if (s->state == STREAM_CLOSED)
                return;
        if (r == 0)
                r = learn_peer(s);
        if (r < 0) {
                stream_fail(s, r, false, "cannot connect: %s", strerror(-r));
                return;
        }
        s->state = STREAM_HANDSHAKING;
        start_reading(s);
        if (s->state != STREAM_HANDSHAKING)
                return;
        if (s->tls)
                stream_tls_step(s);
        else
                stream_set_open(s);
}

static void init_handles(Stream *s, uv_loop_t *loop, bool tcp) {
        // None of these allocates or can fail on Linux.
        time_limit_init(&s->limit, loop, s);
        (void) drain_init(&s->drain, loop, on_drain, s);
        (void) (tcp ? uv_tcp_init(loop, &s->tcp) : uv_pipe_init(loop, &s->pipe, 0));
        s->handle.data = s->connect.data = s;
        s->n_handles = 3;
}

static int stream_new(const StreamOps *ops, void *userdata, Stream **ret) {
        Stream *s = calloc(1, sizeof(*s));

        if (!s)
                return -ENOMEM;
        s->ops = ops;
        s->userdata = userdata;
        stream_queue_init(s);
        *ret = s;
        return 0;
}

void stream_connect(Stream *s, const struct sockaddr *where) {
        int r = uvx_errno(uv_tcp_connect(&s->connect, &s->tcp, where, on_connected));

        if (r < 0) // e.g. no route: told like any other failure to connect
                stream_fail(s, r, false, "cannot connect: %s", strerror(-r));
}

int stream_dial(uv_loop_t *loop, const char *address, uint16_t port, TlsContext *tls, const char *alpn,
                const Hash *expect_pin, const StreamOps *ops, void *userdata, Stream **ret) {
        struct sockaddr_storage where = {};
        _cleanup_free_ Stream *s = NULL;
        bool is_name = uv_ip4_addr(address, port, (struct sockaddr_in *) &where) < 0 &&
                       uv_ip6_addr(address, port, (struct sockaddr_in6 *) &where) < 0;
        int r;

        if (is_name && (!*address || strlen(address) > STREAM_NAME_MAX))
                return -EINVAL;
        r = stream_new(ops, userdata, &s);
        if (r < 0)
                return r;
        r = tls ? stream_tls_start(s, tls, false, alpn) : 0;
        if (r < 0)
                return r;
        if (!is_name)
                snprintf(s->peer.address, sizeof(s->peer.address), "%.*s",
                         (int) sizeof(s->peer.address) - 1, address);
        s->peer.port = port;
        s->has_expect_pin = expect_pin != NULL;
        if (expect_pin)
                s->expect_pin = *expect_pin;
        init_handles(s, loop, true);
        time_limit_start(&s->limit, STREAM_HANDSHAKE_MS, on_handshake_timeout);
        if (is_name)
                stream_lookup(s, address);
        else
                stream_connect(s, (struct sockaddr *) &where);
        *ret = TAKE_PTR(s);
        return 0;
}

int stream_dial_unix(uv_loop_t *loop, const char *path, const StreamOps *ops, void *userdata, Stream **ret) {
        Stream *s;
        int r;

        if (strlen(path) >= sizeof(((struct sockaddr_un *) NULL)->sun_path)) // libuv would cut it
                return -EINVAL;
        r = stream_new(ops, userdata, &s);
        if (r < 0)
                return r;
        init_handles(s, loop, false);
        time_limit_start(&s->limit, STREAM_HANDSHAKE_MS, on_handshake_timeout);
        uv_pipe_connect(&s->connect, &s->pipe, path, on_connected); // errors come to the callback
        *ret = s;
        return 0;
}

bool stream_local_address(const Stream *s, char ret[STREAM_ADDRESS_SIZE]) {
        struct sockaddr_storage local = {};
        int len = sizeof(local);

        *ret = 0;
        if (s->state != STREAM_OPEN || s->handle.type != UV_TCP ||
            uv_tcp_getsockname(&s->tcp, (struct sockaddr *) &local, &len) < 0)
                return false;
        stream_address_text((struct sockaddr *) &local, ret);
        return *ret;
}

int stream_new_accepted(uv_loop_t *loop, int fd, const struct sockaddr_storage *from, TlsContext *tls,
                        const StreamOps *ops, void *userdata, Stream **ret) {
        bool tcp = from->ss_family != AF_UNIX;
        Stream *s = NULL;
        int r;

        r = stream_new(ops, userdata, &s);
        if (r == 0 && tls)
                r = stream_tls_start(s, tls, true, NULL);
        if (r < 0) {
                free(s);
                close(fd);
                return r;
        }
        s->peer.port = stream_address_text((const struct sockaddr *) from, s->peer.address);
        init_handles(s, loop, tcp);
        r = uvx_errno(tcp ? uv_tcp_open(&s->tcp, fd) : uv_pipe_open(&s->pipe, fd));
        if (r < 0)
                close(fd);
        else
                r = learn_peer(s);
        if (r < 0) {
                s->ops = NULL; // no owner knows it yet
                destroy(s);
                return r;
        }
        s->state = tls ? STREAM_HANDSHAKING : STREAM_OPEN;
        s->opened = !tls;
        if (tls)
                time_limit_start(&s->limit, STREAM_HANDSHAKE_MS, on_handshake_timeout);
        start_reading(s);
        *ret = s;
        return 0;
}

void stream_set_hooks(Stream *s, const StreamHooks *hooks, void *data) {
        s->hooks = hooks;
        s->hooks_data = data;
}

void stream_set_owner(Stream *s, const StreamOps *ops, void *userdata) {
        s->ops = ops;
        s->userdata = userdata;
}

void stream_set_frames(Stream *s, size_t max) {
        stream_set_messages(s, NULL, max);
}

void stream_set_messages(Stream *s, const ProtobufCMessageDescriptor *kind, size_t max) {
        s->message_kind = kind;
        s->frame_max = max;
}

int stream_peer_groups(const Stream *s, gid_t **ret, size_t *ret_n) {
        _cleanup_free_ gid_t *groups = NULL;
        socklen_t len = 64 * sizeof(*groups);
        int fd, r;

        r = uv_fileno(&s->handle, &fd);
        if (r < 0)
                return uvx_errno(r);
        for (;;) {
                gid_t *more = realloc(groups, len + 1);

                if (!more)
                        return -ENOMEM;
                groups = more;
                if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == 0)
                        break;
                if (errno != ERANGE) // then `len` is as many as there are
                        return -errno;
                if (len > STREAM_PEER_GROUPS_MAX * sizeof(*groups))
                        return -E2BIG;
        }
        *ret_n = len / sizeof(*groups);
        *ret = TAKE_PTR(groups);
        return 0;
}

const StreamPeer *stream_peer(const Stream *s) {
        return &s->peer;
}

const char *stream_error_text(const Stream *s) {
        return s->why;
}
