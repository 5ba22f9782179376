// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What an end of a connection is to its owner: stream.h, the Listener and tls-context.h again. What has
// arrived waits at the end until the drain of its stream takes it, so every callback comes from the loop of
// its host.
//
//      dialled -> [the listener's pin is judged] -> opened -> message* -> closed
//      listened to -> [the dialler's pin is judged] -> accepted -> message* -> closed
#include "sim-net-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "frame.h"
#include "identity.h"
#include "message.h"
#include "str.h"
#include "x509.h"

enum { FDS_MAX = 16384, FIRST_FREE_PORT = 20000 };

static _Noreturn void no_memory(void) {
        abort();
}

// ------------------------------------------------------------------------------------------------ the end

static void release(Stream *s) {
        if (--s->n_handles > 0)
                return;
        if (s->ops)
                s->ops->closed(s, s->error, s->userdata);
        conn_unref(s->conn);
        buf_done(&s->in);
        buf_done(&s->out);
        free(s);
}

static void on_drain_closed(uv_handle_t *handle) {
        release(CONTAINER_OF((uv_idle_t *) handle, Stream, drain.idle));
}

static void on_limit_closed(uv_handle_t *handle) {
        release(CONTAINER_OF((uv_timer_t *) handle, Stream, limit.timer));
}

static void destroy(Stream *s) {
        if (s->state == STREAM_CLOSED)
                return;
        s->state = STREAM_CLOSED;
        if (!s->end_sent)
                conn_leave(s->conn, s->side, s->conn->ends[s->side].in.len > 0);
        s->conn->ends[s->side].stream = NULL;
        s->conn->ends[s->side].gone = true;
        time_limit_close(&s->limit, on_limit_closed);
        drain_close(&s->drain, on_drain_closed);
        sim_wake(s->host);
}

static bool is_closing(const Stream *s) {
        return s->state >= STREAM_FLUSHING;
}

static void on_flush_timeout(void *userdata) {
        destroy(userdata);
}

// What there is room for on the way.
static void pump(Stream *s) {
        size_t n = MIN_OF(conn_room(s->conn, s->side), s->out.len);

        if (n > 0 && s->opened) {
                conn_send(s->conn, s->side, PIECE_DATA, s->out.data, n);
                buf_consume(&s->out, n);
        }
        if (s->state == STREAM_FLUSHING && s->out.len == 0 && !s->end_sent) {
                s->end_sent = true;
                conn_send(s->conn, s->side, PIECE_END, NULL, 0);
        }
}

void stream_close(Stream *s, int error, bool flush) {
        if (s->state < STREAM_FLUSHING)
                s->error = error;
        else if (flush)
                return;
        if (!flush || !s->opened || s->conn->closed) {
                destroy(s);
                return;
        }
        s->state = STREAM_FLUSHING;
        time_limit_start(&s->limit, STREAM_FLUSH_MS, on_flush_timeout);
        pump(s);
        stream_note(s);
}

static void fail_stream(Stream *s, int error, const char *what) {
        if (is_closing(s))
                return;
        str_fit(s->why, sizeof(s->why), "%s", what);
        stream_close(s, error, false);
}

// ----------------------------------------------------------------------------------------------- the way in

static int give_message(Stream *s, const uint8_t *payload, size_t len) {
        size_t cost = s->ops->unpacks ? frame_cost(s->kind, payload, len, SIZE_MAX) : 0;
        ProtobufCMessage *message;
        int r = 0;

        if (cost == SIZE_MAX || (!s->ops->unpacks && s->cost_max > 0 &&
                                 frame_cost(s->kind, payload, len, s->cost_max) == SIZE_MAX))
                return -EBADMSG;
        if (s->ops->unpacks)
                r = s->ops->unpacks(s, cost, s->userdata);
        if (r < 0)
                return r;
        message = frame_unpack(s->kind, payload, len);
        if (!message)
                return -EBADMSG;
        r = s->ops->message ? s->ops->message(s, message, s->userdata) : -EPROTO;
        message_free(message);
        return r;
}

// Negative errno, 0: there is no more, 1.
static int give_next(Stream *s, size_t *done) {
        const uint8_t *payload;
        size_t len, from = *done;
        int r;

        if (s->in.len == from)
                return 0;
        if (s->frame_max == 0) {
                *done = s->in.len;
                r = s->ops->data ? s->ops->data(s, s->in.data + from, s->in.len - from, s->userdata)
                                 : -EPROTO;
                return r < 0 ? r : 1;
        }
        r = frame_peek(s->in.data + from, s->in.len - from, s->frame_max, &payload, &len);
        if (r < 0 && s->ops->unpacks)
                (void) s->ops->unpacks(s, SIZE_MAX, s->userdata);
        if (r <= 0)
                return r;
        *done += FRAME_HEADER_SIZE + len;
        if (s->kind)
                r = give_message(s, payload, len);
        else
                r = s->ops->frame ? s->ops->frame(s, payload, len, s->userdata) : -EPROTO;
        return r < 0 ? r : 1;
}

static int hold(Stream *s) {
        if (s->state != STREAM_OPEN || !s->ops->holds || s->in.len == s->held)
                return 0;
        s->held = s->in.len;
        return s->ops->holds(s, s->in.len, s->userdata);
}

static void await_rest(Stream *s, bool anew) {
        bool half = s->in.len > 0 && !s->paused;

        if (s->frame_ms == 0 || s->state != STREAM_OPEN || (half == s->awaits_rest && !(half && anew)))
                return;
        s->awaits_rest = half;
        stream_set_deadline(s, half ? s->frame_ms : 0);
}

static void take_in(Stream *s) {
        End *end = &s->conn->ends[s->side];
        size_t n = end->in.len;

        if (n == 0)
                return;
        if (buf_append(&s->in, end->in.data, n) < 0)
                no_memory();
        buf_consume(&end->in, n);
        conn_took(s->conn, s->side, n);
}

static void deliver(Stream *s) {
        size_t done = 0;
        int r = 1;

        take_in(s);
        while (r > 0 && s->state == STREAM_OPEN && !s->paused)
                r = give_next(s, &done);
        buf_consume(&s->in, done);
        if (r >= 0)
                r = hold(s);
        if (r < 0)
                fail_stream(s, r, "the peer sent something that we cannot take");
        await_rest(s, done > 0);
}

static void look_for_end(Stream *s) {
        const End *end = &s->conn->ends[s->side];

        if (s->state == STREAM_FLUSHING) {
                if (end->lost < 0 || (end->ended && s->end_sent))
                        destroy(s);
                return;
        }
        if (end->lost < 0)
                fail_stream(s, end->lost,
                            end->lost == -EACCES        ? "the peer does not know our key"
                            : end->lost == -EKEYREVOKED ? "the peer has removed us"
                                                        : "connection lost");
        else if (end->ended && !s->paused)
                fail_stream(s, -ECONNRESET, "the peer closed the connection");
}

// Whoever wants to join knows no key, but a CA. `ca`: the one that has signed the listener's certificate;
// zero: none that it shows.
static int judge_for_joiner(const TlsContext *tls, const Hash *ca, const char **ret_why) {
        *ret_why = "its certificate is not of the CA that the token names";
        return hash_equal(&tls->ca, ca) ? 0 : -EACCES;
}

// Whether the other end's key is welcome, as tls_session_judge() says it.
static int judge(TlsContext *tls, const Hash *expect_pin, const Hash *pin, const Hash *ca, const char *alpn,
                 bool server, const char **ret_why) {
        TlsVerdict verdict;

        *ret_why = "its key is not known here";
        if (streq(alpn, ALPN_JOIN) && server)
                return 0;
        if (expect_pin) {
                *ret_why = "it has another key than expected";
                return hash_equal(expect_pin, pin) ? 0 : -EACCES;
        }
        verdict = tls->judge(pin, alpn, tls->userdata);
        if (verdict == TLS_REMOVED)
                *ret_why = "its host was removed from the cluster";
        if (verdict == TLS_GUEST && hash_equal(&tls->ca, ca) && !hash_equal(ca, &(Hash){}))
                return 0;
        return verdict == TLS_MEMBER ? 0 : verdict == TLS_REMOVED ? -EKEYREVOKED : -EACCES;
}

static int judge_listener(const Stream *s, const char **ret_why) {
        if (!s->tls)
                return 0;
        if (s->tls->joins)
                return judge_for_joiner(s->tls, &s->conn->ends[1].ca, ret_why);
        return judge(s->tls, s->has_expect_pin ? &s->expect_pin : NULL, &s->peer.pin, &s->conn->ends[1].ca,
                     s->peer.alpn, false, ret_why);
}

static void open_dialled(Stream *s) {
        const char *why;
        int r = judge_listener(s, &why);

        s->answered = false;
        if (r < 0) {
                fail_stream(s, r, why);
                return;
        }
        s->state = STREAM_OPEN;
        s->opened = true;
        time_limit_stop(&s->limit);
        conn_send(s->conn, s->side, PIECE_FINISHED, NULL, 0);
        if (s->ops->opened)
                s->ops->opened(s, s->userdata);
}

static void tell_drained(Stream *s) {
        s->was_high |= s->out.len > STREAM_LOW_WATER;
        if (s->state != STREAM_OPEN || s->out.len > 0 || !(s->was_high || s->asked_drained))
                return;
        s->was_high = s->asked_drained = false;
        if (s->ops->drained)
                s->ops->drained(s, s->userdata);
}

static void on_drain(void *userdata) {
        Stream *s = userdata;

        if (s->state == STREAM_CONNECTING && s->answered)
                open_dialled(s);
        if (s->state == STREAM_OPEN && !s->paused)
                deliver(s);
        if (!is_closing(s) || s->state == STREAM_FLUSHING)
                pump(s);
        tell_drained(s);
        if (s->state != STREAM_CLOSED)
                look_for_end(s);
}

void stream_note(Stream *s) {
        if (s->state == STREAM_CLOSED)
                return;
        drain_mark(&s->drain);
        sim_wake(s->host);
}

void stream_note_hello(Stream *s, const Hash *pin) {
        if (s->state != STREAM_CONNECTING)
                return;
        s->peer.pin = *pin;
        s->answered = true;
        stream_note(s);
}

// -------------------------------------------------------------------------------------------- the beginning

static void on_handshake_timeout(void *userdata) {
        fail_stream(userdata, -ETIMEDOUT, "no answer within 5000 ms");
}

static void on_deadline(void *userdata) {
        fail_stream(userdata, -ETIMEDOUT, "the peer did not say what it must in time");
}

static Stream *stream_new(uv_loop_t *loop, Conn *c, int side, const StreamOps *ops, void *userdata) {
        Stream *s = calloc(1, sizeof(*s));

        if (!s)
                no_memory();
        *s = (Stream){.loop = loop,
                      .host = sim_host_of_loop(loop),
                      .n_handles = 2,
                      .ops = ops,
                      .userdata = userdata,
                      .conn = c,
                      .side = side};
        time_limit_init(&s->limit, loop, s);
        (void) drain_init(&s->drain, loop, on_drain, s);
        c->ends[side].host = s->host;
        c->ends[side].stream = s;
        str_fit(s->peer.alpn, sizeof(s->peer.alpn), "%s", c->alpn);
        return s;
}

static Stream *dial(uv_loop_t *loop, const char *address, uint16_t port, const char *path, const char *alpn,
                    const StreamOps *ops, void *userdata) {
        Stream *s = stream_new(loop, net_dial(sim_host_of_loop(loop), address, port, path, alpn), 0, ops,
                               userdata);

        str_fit(s->peer.address, sizeof(s->peer.address), "%s", address);
        s->peer.port = port;
        time_limit_start(&s->limit, STREAM_HANDSHAKE_MS, on_handshake_timeout);
        return s;
}

int stream_dial(uv_loop_t *loop, const char *address, uint16_t port, TlsContext *tls, const char *alpn,
                const Hash *expect_pin, const StreamOps *ops, void *userdata, Stream **ret) {
        Stream *s;

        if (!*address || strlen(address) > STREAM_NAME_MAX)
                return -EINVAL;
        s = dial(loop, address, port, "", tls ? alpn : "", ops, userdata);
        s->tls = tls;
        if (tls) {
                s->conn->ends[0].pin = tls->pin;
                s->conn->ends[0].ca = tls->ca;
        }
        s->has_expect_pin = expect_pin != NULL;
        if (expect_pin)
                s->expect_pin = *expect_pin;
        *ret = s;
        return 0;
}

int stream_dial_unix(uv_loop_t *loop, const char *path, const StreamOps *ops, void *userdata, Stream **ret) {
        if (strlen(path) >= sizeof(((Conn *) NULL)->path))
                return -EINVAL;
        *ret = dial(loop, "", 0, path, "", ops, userdata);
        if (!(*ret)->conn->ends[1].host) { // nobody has it
                (*ret)->conn->ends[0].lost = -ENOENT;
                stream_note(*ret);
        }
        return 0;
}

void stream_set_owner(Stream *s, const StreamOps *ops, void *userdata) {
        s->ops = ops;
        s->userdata = userdata;
        stream_note(s);
}

void stream_set_frames(Stream *s, size_t max) {
        stream_set_messages(s, NULL, max);
}

void stream_set_messages(Stream *s, const ProtobufCMessageDescriptor *kind, size_t max) {
        s->kind = kind;
        s->frame_max = max;
}

void stream_set_cost_max(Stream *s, size_t bytes) {
        s->cost_max = bytes;
}

void stream_set_frame_deadline(Stream *s, unsigned ms) {
        s->frame_ms = ms;
}

void stream_set_sender(Stream *s, const void *of, size_t untold) {
}

void stream_set_deadline(Stream *s, unsigned ms) {
        if (s->state != STREAM_OPEN)
                return;
        if (ms > 0)
                time_limit_start(&s->limit, ms, on_deadline);
        else
                time_limit_stop(&s->limit);
}

const StreamPeer *stream_peer(const Stream *s) {
        return &s->peer;
}

int stream_peer_groups(const Stream *s, gid_t **ret, size_t *ret_n) {
        const SimUser *user = &s->conn->user;

        *ret = NULL;
        *ret_n = user->n_groups;
        if (user->n_groups == 0)
                return 0;
        *ret = malloc(user->n_groups * sizeof(**ret));
        if (!*ret)
                return -ENOMEM;
        memcpy(*ret, user->groups, user->n_groups * sizeof(**ret));
        return 0;
}

int stream_channel(const Stream *s, uint8_t ret[static STREAM_CHANNEL_SIZE]) {
        if (!s->tls || !s->opened)
                return -ENOTCONN;
        memset(ret, 0, STREAM_CHANNEL_SIZE);
        memcpy(ret, &s->conn->number, sizeof(s->conn->number));
        return 0;
}

bool stream_local_address(const Stream *s, char ret[STREAM_ADDRESS_SIZE]) {
        *ret = 0;
        if (s->state != STREAM_OPEN || s->conn->local)
                return false;
        str_fit(ret, STREAM_ADDRESS_SIZE, "%s", s->conn->ends[s->side].address);
        return *ret;
}

uint16_t stream_address_text(const struct sockaddr *from, char ret[STREAM_ADDRESS_SIZE]) {
        *ret = 0;
        if (from->sa_family != AF_INET)
                return 0;
        (void) uv_ip4_name((const struct sockaddr_in *) from, ret, STREAM_ADDRESS_SIZE);
        return ntohs(((const struct sockaddr_in *) from)->sin_port);
}

const char *stream_error_text(const Stream *s) {
        return s->why;
}

// ---------------------------------------------------------------------------------------------- the way out

static int queued(Stream *s, int r) {
        if (r < 0)
                return r;
        if (s->out.len > STREAM_QUEUE_MAX) {
                fail_stream(s, -ENOBUFS, "the peer takes nothing");
                return -ENOBUFS;
        }
        stream_note(s);
        return 0;
}

int stream_send(Stream *s, const ProtobufCMessage *message) {
        return is_closing(s) ? -ENOTCONN : queued(s, frame_append(&s->out, message, FRAME_MAX));
}

int stream_send_frame(Stream *s, Buf *frame) {
        int r = is_closing(s) ? -ENOTCONN : queued(s, buf_append(&s->out, frame->data, frame->len));

        if (r == 0)
                buf_done(frame);
        return r;
}

int stream_write(Stream *s, const void *data, size_t len) {
        return is_closing(s) ? -ENOTCONN : queued(s, buf_append(&s->out, data, len));
}

size_t stream_queued(const Stream *s) {
        return s->out.len;
}

void stream_ask_drained(Stream *s) {
        s->asked_drained = s->out.len > 0;
}

void stream_pause(Stream *s, bool pause) {
        if (s->paused == pause)
                return;
        s->paused = pause;
        if (!pause)
                stream_note(s);
}

// ------------------------------------------------------------------------------------------------ listeners

// What a descriptor stands for until a listener has it.
static struct {
        uint16_t port;
        char path[108];
} bound[FDS_MAX];

static void fill_peer(const Conn *c, StreamPeer *ret) {
        *ret = (StreamPeer){.pin = c->ends[0].pin,
                            .port = (uint16_t) (30000 + c->number % 30000),
                            .pid = c->local ? 1 : 0};
        ret->uid = c->user.uid;
        ret->gid = c->user.gid;
        str_fit(ret->alpn, sizeof(ret->alpn), "%s", c->alpn);
        str_fit(ret->address, sizeof(ret->address), "%s", c->local ? "" : c->ends[0].address);
}

static void accept_one(Listener *l, Conn *c) {
        StreamPeer peer;
        const char *why;
        Stream *s;
        int r;

        fill_peer(c, &peer);
        r = l->tls ? judge(l->tls, NULL, &peer.pin, &c->ends[0].ca, peer.alpn, true, &why) : 0;
        if (r < 0) {
                conn_send(c, 1, PIECE_REFUSED, &r, 0);
                c->ends[1].gone = true;
                if (l->ops->refused)
                        l->ops->refused(l, &peer, why, l->userdata);
                conn_unref(c);
                return;
        }
        s = stream_new(l->loop, c, 1, NULL, NULL);
        s->tls = l->tls;
        s->peer = peer;
        s->listener = l;
        s->state = STREAM_OPEN;
        s->opened = true;
        l->ops->accepted(l, s, l->userdata);
        if (!s->ops)
                destroy(s);
        else
                stream_note(s);
}

static void on_listener_drain(void *userdata) {
        Listener *l = userdata;

        while (!list_is_empty(&l->waiting) && !l->closing) {
                Conn *c = CONTAINER_OF(l->waiting.next, Conn, waits);

                list_unlink(&c->waits);
                accept_one(l, c);
        }
}

void listener_note(Listener *l) {
        drain_mark(&l->drain);
        sim_wake(l->host);
}

static int bind_to(int fd, uint16_t port, const char *path, int *ret_fd) {
        if (fd < 0)
                return -errno;
        if (fd >= FDS_MAX)
                abort();
        bound[fd].port = port;
        str_fit(bound[fd].path, sizeof(bound[fd].path), "%s", path);
        *ret_fd = fd;
        return 0;
}

int listener_bind_tcp(uint16_t port, int *ret_fd, uint16_t *ret_port) {
        if (port > 0 && net_find_listener(sim_current(), port, ""))
                return -EADDRINUSE;
        while (port == 0 || net_find_listener(sim_current(), port, ""))
                port = port ? (uint16_t) (port + 1) : FIRST_FREE_PORT;
        *ret_port = port;
        return bind_to(open("/dev/null", O_RDWR | O_CLOEXEC), port, "", ret_fd);
}

// There is a file, so that whoever gives others a right to it finds one.
int listener_bind_unix(const char *path, mode_t mode, gid_t gid, int *ret_fd) {
        if (net_find_listener(NULL, 0, path))
                return -EADDRINUSE;
        return bind_to(open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode), 0, path, ret_fd);
}

static int listener_new(uv_loop_t *loop, int fd, TlsContext *tls, const ListenerOps *ops, void *userdata,
                        Listener **ret) {
        Listener *l = calloc(1, sizeof(*l));

        if (!l || fd >= FDS_MAX)
                no_memory();
        *l = (Listener){.loop = loop,
                        .host = sim_host_of_loop(loop),
                        .port = bound[fd].port,
                        .tls = tls,
                        .ops = ops,
                        .userdata = userdata};
        str_fit(l->path, sizeof(l->path), "%s", bound[fd].path);
        list_init(&l->waiting);
        (void) drain_init(&l->drain, loop, on_listener_drain, l);
        net_add_listener(l);
        close(fd);
        *ret = l;
        return 0;
}

int listener_new_bound(uv_loop_t *loop, int fd, TlsContext *tls, const ListenerOps *ops, void *userdata,
                       Listener **ret) {
        return listener_new(loop, fd, tls, ops, userdata, ret);
}

int listener_new_tcp(uv_loop_t *loop, uint16_t port, TlsContext *tls, const ListenerOps *ops, void *userdata,
                     Listener **ret) {
        int fd, r = listener_bind_tcp(port, &fd, &port);

        return r < 0 ? r : listener_new(loop, fd, tls, ops, userdata, ret);
}

int listener_new_unix(uv_loop_t *loop, int fd, const ListenerOps *ops, void *userdata, Listener **ret) {
        return listener_new(loop, fd, NULL, ops, userdata, ret);
}

uint16_t listener_port(const Listener *l) {
        return l->port;
}

static void on_listener_closed(uv_handle_t *handle) {
        Listener *l = CONTAINER_OF(CONTAINER_OF((uv_idle_t *) handle, Drain, idle), Listener, drain);

        l->ops->closed(l, l->userdata);
        free(l);
}

void listener_close(Listener *l) {
        l->closing = true;
        list_unlink(&l->link);
        while (!list_is_empty(&l->waiting)) {
                Conn *c = CONTAINER_OF(l->waiting.next, Conn, waits);

                list_unlink(&c->waits);
                conn_leave(c, 1, true);
                conn_unref(c);
        }
        drain_close(&l->drain, on_listener_closed);
}

// ------------------------------------------------------------------------------------------------ keys

// What an identity shows: its key, and the CA that has signed it.
static int show(TlsContext *c, const Identity *identity) {
        gnutls_x509_crt_t cert = NULL, ca = NULL;
        int r = 0;

        c->pin = identity->pin;
        c->ca = (Hash){};
        if (identity->cert.len == 0)
                return 0;
        r = x509_cert_read(identity->cert.data, identity->cert.len, &cert);
        if (r == 0)
                r = x509_cert_read(identity->ca_cert.data, identity->ca_cert.len, &ca);
        if (r == 0 && x509_is_signed_by(cert, ca))
                c->ca = hash_of(identity->ca_cert.data, identity->ca_cert.len);
        gnutls_x509_crt_deinit(cert);
        gnutls_x509_crt_deinit(ca);
        return r;
}

int tls_context_new(const Identity *identity, TlsJudge judge_pin, void *userdata, TlsContext **ret) {
        TlsContext *c = calloc(1, sizeof(*c));
        int r;

        if (!c)
                return -ENOMEM;
        *c = (TlsContext){.refs = 1, .judge = judge_pin, .userdata = userdata};
        r = show(c, identity);
        if (r < 0)
                c = tls_context_unref(c);
        *ret = c;
        return r;
}

int tls_context_new_joiner(const Hash *ca_hash, TlsContext **ret) {
        TlsContext *c = calloc(1, sizeof(*c));

        if (!c)
                return -ENOMEM;
        *c = (TlsContext){.refs = 1, .joins = true, .ca = *ca_hash};
        *ret = c;
        return 0;
}

int tls_context_set_identity(TlsContext *c, const Identity *identity) {
        return show(c, identity);
}

int tls_context_set_cas(TlsContext *c, const Buf *certs, size_t n) {
        return 0;
}

TlsContext *tls_context_ref(TlsContext *c) {
        c->refs++;
        return c;
}

TlsContext *tls_context_unref(TlsContext *c) {
        if (c && --c->refs == 0)
                free(c);
        return NULL;
}
