// SPDX-License-Identifier: LGPL-2.1-or-later

// See transport.h. Lifetimes: a Connect lives from libraft's connect() until its callback; a Bridge from the
// open stream until both its ends are closed. close() cancels the connects and ends the bridges; libraft
// hears of it when the last of both is gone.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge.h"
#include "clock.h"
#include "host-address.h"
#include "store-impl.h"
#include "tls-context.h"
#include "transport.h"

enum { MARKS_PACE_MS = 50 }; // several in a tick of libraft's

typedef struct Connect {
        ListNode node;
        Transport *transport;
        struct raft_uv_connect *req;
        raft_uv_connect_cb done;
        Stream *stream; // NULL: not dialled, since it is retired
        uint32_t raft_id;
} Connect;

void transport_address(uint32_t raft_id, char ret[TRANSPORT_ADDRESS_SIZE]) {
        snprintf(ret, TRANSPORT_ADDRESS_SIZE, "%u", raft_id);
}

static void maybe_closed(Transport *t) {
        if (t->closing && t->closed && list_is_empty(&t->connects) && list_is_empty(&t->bridges)) {
                raft_uv_transport_close_cb closed = t->closed;

                t->closed = NULL;
                closed(&t->uv);
        }
}

// ---- marks

static Bridge *find_bridge(const Transport *t, uint32_t raft_id, bool accepted) {
        list_foreach (n, &t->bridges) {
                Bridge *b = CONTAINER_OF(n, Bridge, node);

                if (b->accepted == accepted && b->raft_id == raft_id && !b->closing)
                        return b;
        }
        return NULL;
}

static SeenMark *find_seen(Transport *t, uint32_t raft_id) {
        for (size_t i = 0; i < ELEMENTSOF(t->seen); i++)
                if (t->seen[i].raft_id == raft_id)
                        return &t->seen[i];
        return NULL;
}

static SeenMark *oldest_seen(Transport *t) {
        SeenMark *oldest = &t->seen[0];

        for (size_t i = 1; i < ELEMENTSOF(t->seen); i++)
                if (t->seen[i].term < oldest->term)
                        oldest = &t->seen[i];
        return oldest;
}

void transport_set_marks(Transport *t, uint32_t promise_ms, TransportAnswer answer, TransportPart part,
                         TransportTakes takes, TransportLeads leads, void *userdata) {
        t->promise_ms = promise_ms;
        t->answer = answer;
        t->part = part;
        t->takes = takes;
        t->leads = leads;
        t->answer_data = userdata;
}

// It has a connection to us only if it has dialled us, and so have we.
void transport_say_marks(Transport *t, uint32_t raft_id) {
        Bridge *b = find_bridge(t, raft_id, false);

        if (b)
                bridge_say_marks(b, MARKS_PACE_MS);
}

void transport_note_obeyed(Transport *t, uint32_t raft_id, uint64_t term) {
        const Bridge *b = find_bridge(t, raft_id, true);
        SeenMark *seen;

        if (!b || b->mark_us == 0)
                return;
        seen = find_seen(t, raft_id) ?: oldest_seen(t);
        *seen = (SeenMark){raft_id, term, b->mark_us};
}

static void on_fill_marks(Bridge *b, Marks *ret, void *userdata) {
        Transport *t = userdata;
        const SeenMark *seen = find_seen(t, b->raft_id);

        *ret = (Marks){.mark_us = !t->leads || t->leads(t->answer_data) ? clock_boot_us() : 0,
                       .promise_ms = t->promise_ms};
        if (!seen)
                return;
        ret->term = seen->term;
        ret->seen_us = seen->mark_us;
}

static void on_marks(Bridge *b, const Marks *m, void *userdata) {
        Transport *t = userdata;

        b->mark_us = m->mark_us;
        if (m->seen_us > 0 && t->answer)
                t->answer(b->raft_id, m->term, m->seen_us, m->promise_ms, t->answer_data);
}

// From a host that dialled us: where it listens does not matter here.
static void on_piece(Bridge *b, const Marks *m, size_t len, void *userdata) {
        Transport *t = userdata;

        if (!b->accepted)
                return;
        if (len == 0 && t->takes)
                t->takes(b->raft_id, m->term, t->answer_data);
        else if (len >= BRIDGE_LONG_SIZE && m->mark_us > 0 && t->part) // it leads on
                t->part(b->raft_id, t->answer_data);
}

// ---- bridges

static void on_bridge_closed(Bridge *b, void *userdata) {
        Transport *t = userdata;

        list_unlink(&b->node);
        t->n_bridges--;
        free(b);
        maybe_closed(t);
}

static const BridgeOps bridge_ops = {
        .fill = on_fill_marks, .marks = on_marks, .piece = on_piece, .closed = on_bridge_closed};

static int bridge_add(Transport *t, Stream *stream, uint32_t raft_id, bool accepted,
                      uv_stream_t **ret_pipe) {
        Bridge *b;
        int r;

        if (t->n_bridges >= TRANSPORT_BRIDGES_MAX)
                return -EBUSY;
        r = bridge_new(t->loop, stream, &bridge_ops, t, &b, ret_pipe);
        if (r < 0)
                return r;
        b->raft_id = raft_id;
        b->accepted = accepted;
        b->number = ++t->n_connections;
        list_append(&t->bridges, &b->node);
        t->n_bridges++;
        return 0;
}

static bool is_retired(const Transport *t, uint32_t raft_id) {
        const Store *s = t->store;

        return s->ops->retired && s->ops->retired(raft_id, s->userdata);
}

// ---- dialling

static void connect_finish(Connect *c, uv_stream_t *pipe, int status) {
        Transport *t = c->transport;

        list_unlink(&c->node);
        c->done(c->req, pipe, t->closing && status != 0 ? RAFT_CANCELED : status);
        free(c);
        maybe_closed(t);
}

static void on_stream_gone(Stream *s, int error, void *userdata) {
}
static const StreamOps abandoned_ops = {.closed = on_stream_gone};

static void abandon(Stream *s) {
        stream_set_owner(s, &abandoned_ops, NULL);
        stream_close(s, 0, false);
}

static void on_dial_opened(Stream *s, void *userdata) {
        Connect *c = userdata;
        uv_stream_t *pipe = NULL;

        if (c->transport->closing)
                return; // stream_close() was called already
        if (bridge_add(c->transport, s, c->raft_id, false, &pipe) < 0) {
                stream_close(s, 0, false);
                return;
        }
        connect_finish(c, pipe, 0);
}

static void on_dial_closed(Stream *s, int error, void *userdata) {
        connect_finish(userdata, NULL, RAFT_NOCONNECTION);
}

static const StreamOps dial_ops = {.opened = on_dial_opened, .closed = on_dial_closed};

// Answered when libraft closes: to refuse it would only make libraft ask again, five times a second, for
// ever.
static int park(Transport *t, struct raft_uv_connect *req, raft_id id, raft_uv_connect_cb done) {
        Connect *c = malloc(sizeof(*c));

        if (!c)
                return RAFT_NOMEM;
        *c = (Connect){.transport = t, .req = req, .done = done, .raft_id = (uint32_t) id};
        list_append(&t->connects, &c->node);
        return 0;
}

static int on_connect(struct raft_uv_transport *uv, struct raft_uv_connect *req, raft_id id,
                      const char *address, raft_uv_connect_cb done) {
        Transport *t = CONTAINER_OF(uv, Transport, uv);
        _cleanup_free_ Connect *c = NULL;
        char host[HOST_ADDRESS_SIZE];
        Stream *stream;
        uint16_t port;
        Hash pin;

        // Guard 7: no TLS, no connection. Test: store/cluster, nothing_is_sent_in_the_clear.
        if (t->closing || !t->tls)
                return RAFT_NOCONNECTION;
        if (is_retired(t, id))
                return park(t, req, id, done);
        if (!t->store->ops->resolve(id, host, sizeof(host), &port, &pin, t->store->userdata))
                return RAFT_NOCONNECTION;
        c = malloc(sizeof(*c));
        if (!c)
                return RAFT_NOMEM;
        *c = (Connect){.transport = t, .req = req, .done = done, .raft_id = id};
        if (stream_dial(t->loop, host, port, t->tls, ALPN_RAFT, &pin, &dial_ops, c, &stream) < 0)
                return RAFT_NOCONNECTION;
        list_append(&t->connects, &c->node);
        c->stream = stream;
        TAKE_PTR(c);
        return 0;
}

// ---- accepting

void transport_accept(Transport *t, Stream *stream, uint32_t raft_id) {
        char address[TRANSPORT_ADDRESS_SIZE];
        uv_stream_t *pipe;

        if (t->closing || !t->accept || raft_id == 0 || is_retired(t, raft_id)) {
                abandon(stream);
                return;
        }
        list_foreach (n, &t->bridges) {
                Bridge *b = CONTAINER_OF(n, Bridge, node);

                if (b->accepted && b->raft_id == raft_id)
                        bridge_close(b);
        }
        if (bridge_add(t, stream, raft_id, true, &pipe) < 0) {
                abandon(stream);
                return;
        }
        transport_address(raft_id, address);
        t->accept(&t->uv, raft_id, address, pipe);
}

void transport_recheck(Transport *t) {
        list_foreach (n, &t->connects) {
                Connect *c = CONTAINER_OF(n, Connect, node);

                if (c->stream && is_retired(t, c->raft_id))
                        stream_close(c->stream, -ECANCELED, false); // libraft dials again, and is parked
        }
        list_foreach (n, &t->bridges) {
                Bridge *b = CONTAINER_OF(n, Bridge, node);

                if (is_retired(t, b->raft_id))
                        bridge_close(b);
        }
}

uint64_t transport_received_ms(const Transport *t, uint32_t raft_id) {
        const Bridge *b = find_bridge(t, raft_id, true);

        return b ? b->received_ms : 0;
}

uint64_t transport_connection(const Transport *t, uint32_t raft_id) {
        const Bridge *b = find_bridge(t, raft_id, false);

        return b ? b->number : 0;
}

// ---- life

static int on_init(struct raft_uv_transport *uv, raft_id id, const char *address) {
        return 0;
}

static int on_listen(struct raft_uv_transport *uv, raft_uv_accept_cb accept) {
        CONTAINER_OF(uv, Transport, uv)->accept = accept;
        return 0;
}

static void on_close(struct raft_uv_transport *uv, raft_uv_transport_close_cb closed) {
        Transport *t = CONTAINER_OF(uv, Transport, uv);

        t->closing = true;
        t->closed = closed;
        list_foreach_safe (n, &t->connects) {
                Connect *c = CONTAINER_OF(n, Connect, node);

                if (c->stream)
                        stream_close(c->stream, -ECANCELED, false);
                else
                        connect_finish(c, NULL, RAFT_CANCELED);
        }
        list_foreach (n, &t->bridges)
                bridge_close(CONTAINER_OF(n, Bridge, node));
        maybe_closed(t);
}

void transport_init(Transport *t, uv_loop_t *loop, TlsContext *tls, Store *store) {
        *t = (Transport){
                .uv = {.version = 1,
                       .init = on_init,
                       .listen = on_listen,
                       .connect = on_connect,
                       .close = on_close},
                .loop = loop,
                .tls = tls,
                .store = store,
        };
        list_init(&t->connects);
        list_init(&t->bridges);
}
