// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-net.h. Pieces of a direction arrive in the order in which they were sent: each at the earliest
// when the one before has. What arrives at a way that is cut or clogged waits there until the way is open.
#include "sim-net-private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "str.h"

enum { PIECE_MAX = 16 * 1024, PIECES_OF_ONE = 3 };

typedef struct Piece {
        Conn *conn;
        ListNode link; // of the way on which it waits
        int side;      // whose it is
        PieceKind kind;
        int error;
        size_t len;
        uint8_t data[];
} Piece;

typedef struct Way {
        SimWay of;
        bool lose_behind_next;
        ListNode waiting; // Piece.link
} Way;

static struct {
        Way ways[SIM_HOSTS_MAX][SIM_HOSTS_MAX];
        char addresses[SIM_HOSTS_MAX][STREAM_ADDRESS_SIZE];
        ListNode conns, listeners;
        uint64_t n_conns;
        bool names; // are known
        SimUser user; // who dials
        void (*sent)(SimHost *from, SimHost *to);
        SimNetFigures figures;
} net;

void sim_net_begin(void) {
        memset(&net, 0, sizeof(net));
        list_init(&net.conns);
        list_init(&net.listeners);
        for (size_t i = 0; i < SIM_HOSTS_MAX; i++)
                for (size_t j = 0; j < SIM_HOSTS_MAX; j++) {
                        net.ways[i][j].of = (SimWay){.delay_min_us = SIM_NET_DELAY_MIN_US,
                                                     .delay_max_us = SIM_NET_DELAY_MAX_US};
                        list_init(&net.ways[i][j].waiting);
                }
}

SimNetFigures sim_net_figures(void) {
        return net.figures;
}

// ---------------------------------------------------------------------------------------------- connections

Conn *conn_ref(Conn *c) {
        c->refs++;
        return c;
}

void conn_unref(Conn *c) {
        if (--c->refs > 0)
                return;
        list_unlink(&c->link);
        for (int i = 0; i < 2; i++)
                buf_done(&c->ends[i].in);
        free(c);
}

static Way *way_of(const Conn *c, int side) {
        return &net.ways[sim_host_number(c->ends[side].host)]
                        [c->ends[!side].host ? sim_host_number(c->ends[!side].host) : 0];
}

static void notify(Conn *c, int side) {
        if (c->ends[side].stream)
                stream_note(c->ends[side].stream);
}

static void lose(Conn *c, int side, int error) {
        if (c->ends[side].lost == 0)
                c->ends[side].lost = error;
        notify(c, side);
}

static void close_conn(Conn *c) {
        if (c->closed)
                return;
        c->closed = true;
        if (list_is_linked(&c->waits)) {
                list_unlink(&c->waits);
                conn_unref(c);
        }
}

static void piece_free(Piece *p) {
        conn_unref(p->conn);
        free(p);
}

static void refuse(Conn *c, int error) {
        net.figures.refused++;
        lose(c, 0, error);
        close_conn(c);
}

// Whoever is dialled: who listens there now.
static void on_dialled(Conn *c) {
        SimHost *to = c->ends[1].host;
        Listener *l = to && sim_host_is_up(to) ? net_find_listener(to, c->port, c->path) : NULL;

        if (!l) {
                refuse(c, c->local ? -ENOENT : -ECONNREFUSED);
                return;
        }
        if (l->tls)
                c->ends[1].ca = l->tls->ca;
        conn_send(c, 1, PIECE_HELLO, l->tls ? l->tls->pin.bytes : NULL, l->tls ? HASH_SIZE : 0);
}

static void on_finished(Conn *c) {
        Listener *l = net_find_listener(c->ends[1].host, c->port, c->path);

        if (!l) {
                refuse(c, -ECONNRESET);
                return;
        }
        list_append(&l->waiting, &conn_ref(c)->waits);
        listener_note(l);
}

static void arrive(Piece *p) {
        Conn *c = p->conn;
        int to = !p->side;
        Way *way = way_of(c, p->side);
        Hash pin = {};

        switch (p->kind) {
        case PIECE_DIAL:
                on_dialled(c);
                break;
        case PIECE_HELLO:
                if (p->len == HASH_SIZE)
                        memcpy(pin.bytes, p->data, HASH_SIZE);
                if (c->ends[0].stream)
                        stream_note_hello(c->ends[0].stream, &pin);
                break;
        case PIECE_FINISHED:
                on_finished(c);
                break;
        case PIECE_DATA:
                if (c->ends[to].gone) { // its kernel knows of no such connection
                        if (sim_host_is_up(c->ends[to].host)) {
                                lose(c, p->side, -ECONNRESET);
                                close_conn(c);
                        }
                        break;
                }
                net.figures.pieces++;
                net.figures.bytes += p->len;
                if (buf_append(&c->ends[to].in, p->data, p->len) < 0)
                        abort();
                notify(c, to);
                // the kernel's answer to the sender is lost, and the connection with it
                if (way->lose_behind_next && c->ends[p->side].last_us <= sim_now_us()) {
                        way->lose_behind_next = false;
                        lose(c, p->side, -ECONNRESET);
                        lose(c, to, -ECONNRESET);
                        close_conn(c);
                }
                break;
        case PIECE_END:
                c->ends[to].ended = true;
                notify(c, to);
                break;
        case PIECE_REFUSED:
                lose(c, to, p->error);
                close_conn(c);
                break;
        }
}

static void on_due(void *data) {
        Piece *p = data;
        Conn *c = p->conn;
        Way *way = way_of(c, p->side);

        if (!c->closed && (way->of.cut || way->of.clogged) && !c->local) {
                list_append(&way->waiting, &p->link);
                return;
        }
        if (!c->closed && !c->stray)
                arrive(p);
        piece_free(p);
}

static void add_piece(Conn *c, int side, PieceKind kind, int error, const void *data, size_t len) {
        Way *way = way_of(c, side);
        End *end = &c->ends[side];
        Piece *p = calloc(1, sizeof(*p) + len);
        uint64_t delay_us = c->local ? draw_log(sim_draw(), 2, 200)
                                     : draw_log(sim_draw(), way->of.delay_min_us, way->of.delay_max_us);

        if (!p)
                abort();
        *p = (Piece){.conn = conn_ref(c), .side = side, .kind = kind, .error = error, .len = len};
        if (len > 0)
                memcpy(p->data, data, len);
        if (way->of.bytes_per_s > 0)
                end->last_us = MAX_OF(end->last_us, sim_now_us()) + len * 1000000 / way->of.bytes_per_s;
        // Never at the same time as the one before: of those the order is drawn.
        end->last_us = MAX_OF(end->last_us + 1, sim_now_us() + delay_us);
        sim_at(end->last_us, NULL, on_due, p);
}

void sim_net_on_message(void (*sent)(SimHost *from, SimHost *to)) {
        net.sent = sent;
}

void conn_send(Conn *c, int side, PieceKind kind, const void *data, size_t len) {
        size_t rest = len, n = kind == PIECE_DATA ? 1 + draw_below(sim_draw(), PIECES_OF_ONE) : 1;

        if (c->closed)
                return;
        if (kind != PIECE_DATA) {
                add_piece(c, side, kind, kind == PIECE_REFUSED ? *(const int *) data : 0,
                          kind == PIECE_REFUSED ? NULL : data, kind == PIECE_REFUSED ? 0 : len);
                return;
        }
        if (net.sent && !c->local && c->ends[!side].host)
                net.sent(c->ends[side].host, c->ends[!side].host);
        c->ends[side].on_way += len;
        while (rest > 0) {
                size_t some = n-- > 1 ? 1 + draw_below(sim_draw(), (unsigned) rest) : rest;

                some = MIN_OF(some, (size_t) PIECE_MAX);
                n = MAX_OF(n, (size_t) 1);
                add_piece(c, side, kind, 0, (const uint8_t *) data + (len - rest), some);
                rest -= some;
        }
}

size_t conn_room(const Conn *c, int side) {
        return c->closed || c->ends[side].on_way >= SIM_NET_WINDOW ? 0
                                                                   : SIM_NET_WINDOW - c->ends[side].on_way;
}

void conn_took(Conn *c, int side, size_t n) {
        c->ends[!side].on_way -= n;
        notify(c, !side);
}

void conn_leave(Conn *c, int side, bool abrupt) {
        const int reset = -ECONNRESET;

        c->ends[side].stream = NULL;
        c->ends[side].gone = true;
        conn_send(c, side, abrupt ? PIECE_REFUSED : PIECE_END, &reset, 0);
}

// The kernels hear nothing of each other any more, and give up: the one that waits for an answer, and the
// one that listens for a sign of life.
static void on_silence(void *data) {
        Conn *c = data;

        for (int i = 0; i < 2; i++)
                if (!c->closed && c->ends[i].dies_us > 0 && c->ends[i].dies_us <= sim_now_us()) {
                        lose(c, i, -ETIMEDOUT);
                        c->ends[i].dies_us = 0;
                        if (!c->ends[!i].stream || c->ends[!i].lost < 0)
                                close_conn(c);
                }
        conn_unref(c);
}

static void give_up_later(Conn *c, int side) {
        if (c->local || c->closed || c->ends[side].dies_us > 0 || c->ends[side].lost < 0)
                return;
        c->ends[side].dies_us =
                sim_now_us() + STREAM_USER_TIMEOUT_MS * UINT64_C(1000) - draw_below(sim_draw(), 2000000);
        sim_at(c->ends[side].dies_us, NULL, on_silence, conn_ref(c));
}

void sim_net_dial_as(const SimUser *user) {
        net.user = user ? *user : (SimUser){};
}

static void on_no_route(void *data) {
        Conn *c = data;

        lose(c, 0, -ENETUNREACH);
        close_conn(c);
        conn_unref(c);
}

static SimHost *find_from(SimHost *from, const char *address) {
        return streq(address, SIM_BRIDGE_ADDRESS) ? from : sim_net_find(address);
}

Conn *net_dial(SimHost *from, const char *address, uint16_t port, const char *path, const char *alpn) {
        Conn *c = calloc(1, sizeof(*c));

        if (!c)
                abort();
        c->number = ++net.n_conns;
        c->local = *path;
        c->user = net.user;
        c->port = port;
        c->refs = 1;
        str_fit(c->alpn, sizeof(c->alpn), "%s", alpn);
        str_fit(c->path, sizeof(c->path), "%s", path);
        list_append(&net.conns, &c->link);
        net.figures.connections++;
        c->ends[0].host = from;
        c->ends[1].host = NULL;
        if (c->local) {
                list_foreach (n, &net.listeners)
                        if (streq(CONTAINER_OF(n, Listener, link)->path, path))
                                c->ends[1].host = CONTAINER_OF(n, Listener, link)->host;
        } else
                c->ends[1].host = find_from(from, address);
        str_fit(c->ends[0].address, STREAM_ADDRESS_SIZE, "%s", sim_net_address(from));
        // To an address that nobody has, and to a machine that is down, nothing comes back.
        if (!c->local && !*sim_net_address(from))
                sim_at(sim_now_us() + draw_log(sim_draw(), 2, 200), NULL, on_no_route, conn_ref(c));
        else if (c->local || (c->ends[1].host && sim_host_is_up(c->ends[1].host)))
                conn_send(c, 0, PIECE_DIAL, NULL, 0);
        return c;
}

// ---------------------------------------------------------------------------------- addresses and listeners

const char *sim_net_address(const SimHost *h) {
        return net.addresses[sim_host_number(h)];
}

void sim_net_know_names(bool known) {
        net.names = known;
}

SimHost *sim_net_find(const char *address) {
        uint32_t number;

        if (net.names && sscanf(address, "n%" SCNu32, &number) == 1 && number < SIM_HOSTS_MAX)
                return sim_host(number) && *net.addresses[number] ? sim_host(number) : NULL;
        for (uint32_t i = 0; i < SIM_HOSTS_MAX; i++)
                if (*address && streq(net.addresses[i], address))
                        return sim_host(i);
        return NULL;
}

void net_add_listener(Listener *l) {
        list_append(&net.listeners, &l->link);
}

Listener *net_find_listener(const SimHost *h, uint16_t port, const char *path) {
        list_foreach (n, &net.listeners) {
                Listener *l = CONTAINER_OF(n, Listener, link);

                if (!l->closing &&
                    (*path ? streq(l->path, path) : l->host == h && !*l->path && l->port == port))
                        return l;
        }
        return NULL;
}

// ------------------------------------------------------------------------------------------------ faults

static bool joins(const Conn *c, const SimHost *a, const SimHost *b) {
        return (c->ends[0].host == a && c->ends[1].host == b) ||
               (c->ends[0].host == b && c->ends[1].host == a);
}

static bool is_of(const Conn *c, const SimHost *h) {
        return c->ends[0].host == h || c->ends[1].host == h;
}

SimWay sim_net_way(const SimHost *from, const SimHost *to) {
        return net.ways[sim_host_number(from)][sim_host_number(to)].of;
}

void sim_net_set_way(SimHost *from, SimHost *to, SimWay way) {
        Way *w = &net.ways[sim_host_number(from)][sim_host_number(to)];
        const Way *back = &net.ways[sim_host_number(to)][sim_host_number(from)];
        ListNode waiting = LIST_INIT(waiting);

        w->of = way;
        list_foreach_safe (n, &net.conns) {
                Conn *c = CONTAINER_OF(n, Conn, link);

                for (int i = 0; i < 2 && joins(c, from, to); i++) {
                        if (way.cut)
                                give_up_later(c, i);
                        else if (!back->of.cut && !c->ends[!i].gone &&
                                 !c->stray) // else there is nobody to hear of
                                c->ends[i].dies_us = 0;
                }
        }
        if (way.cut || way.clogged)
                return;
        list_splice(&waiting, &w->waiting);
        while (!list_is_empty(&waiting)) {
                Piece *p = CONTAINER_OF(waiting.next, Piece, link);
                End *end = &p->conn->ends[p->side];

                list_unlink(&p->link);
                // Those that wait here were before those that are on their way.
                end->last_us = MAX_OF(end->last_us, sim_now_us());
                on_due(p);
        }
}

void sim_net_lose_behind_next(SimHost *from, SimHost *to) {
        net.ways[sim_host_number(from)][sim_host_number(to)].lose_behind_next = true;
}

void sim_net_reset(SimHost *a, SimHost *b) {
        list_foreach_safe (n, &net.conns) {
                Conn *c = CONTAINER_OF(n, Conn, link);

                if (!joins(c, a, b) || c->closed)
                        continue;
                conn_ref(c);
                lose(c, 0, -ECONNRESET);
                lose(c, 1, -ECONNRESET);
                close_conn(c);
                conn_unref(c);
        }
}

// The memory of its streams is not given back.
static void end_gone(Conn *c, int side, bool silent) {
        bool had = c->ends[side].stream;

        if (side == 1 && list_is_linked(&c->waits)) {
                list_unlink(&c->waits);
                conn_unref(c);
        }
        c->ends[side].stream = NULL;
        c->ends[side].gone = true;
        if (silent && !c->local) // who is there sees it
                give_up_later(c, !side);
        else
                conn_leave(c, side, true);
        if (had)
                conn_unref(c);
}

void sim_net_host_gone(SimHost *h, bool silent) {
        list_foreach_safe (n, &net.listeners)
                if (CONTAINER_OF(n, Listener, link)->host == h)
                        list_unlink(n);
        list_foreach_safe (n, &net.conns) {
                Conn *c = conn_ref(CONTAINER_OF(n, Conn, link));

                for (int i = 0; i < 2; i++)
                        if (c->ends[i].host == h && !c->ends[i].gone)
                                end_gone(c, i, silent);
                conn_unref(c);
        }
}

void sim_net_set_address(SimHost *h, const char *address) {
        if (*sim_net_address(h))
                list_foreach (n, &net.conns) {
                        Conn *c = CONTAINER_OF(n, Conn, link);

                        if (!is_of(c, h) || c->local)
                                continue;
                        c->stray = true;
                        give_up_later(c, 0);
                        give_up_later(c, 1);
                }
        str_fit(net.addresses[sim_host_number(h)], STREAM_ADDRESS_SIZE, "%s", address);
}

void sim_net_end(void) {
        list_foreach_safe (n, &net.conns) {
                Conn *c = CONTAINER_OF(n, Conn, link);

                for (int i = 0; i < 2; i++)
                        buf_done(&c->ends[i].in);
        }
        memset(&net, 0, sizeof(net));
}
