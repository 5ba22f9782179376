// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The network in two files: sim-net.c moves pieces from one end of a connection to the other, sim-stream.c
// is what an end is to its owner: stream.h and the Listener. A connection outlives its streams: it is the
// kernels'.

#include "buf.h"
#include "list.h"
#include "sim-net.h"
#include "stream.h"
#include "time-limit.h"
#include "tls-context.h"
#include "uvx.h"

typedef struct Conn Conn;

typedef enum StreamState { STREAM_CONNECTING, STREAM_OPEN, STREAM_FLUSHING, STREAM_CLOSED } StreamState;

struct Stream {
        uv_loop_t *loop;
        SimHost *host;
        Drain drain;
        TimeLimit limit;
        unsigned n_handles;
        StreamState state;
        bool opened, paused, was_high, asked_drained;
        bool answered; // the other end has, and its pin is in `peer`
        bool end_sent;
        int error;
        char why[192];
        const StreamOps *ops;
        void *userdata;
        TlsContext *tls;
        bool has_expect_pin;
        Hash expect_pin;
        StreamPeer peer;
        size_t frame_max, cost_max;
        unsigned frame_ms;
        bool awaits_rest;
        const ProtobufCMessageDescriptor *kind;
        size_t held;
        Buf in, out; // what has come and makes no whole frame; what is not on its way yet
        Conn *conn;
        int side;
        Listener *listener; // that made it; NULL: dialled
};

struct Listener {
        ListNode link; // of the net
        uv_loop_t *loop;
        SimHost *host;
        Drain drain;
        uint16_t port;
        char path[108]; // empty: TCP
        TlsContext *tls;
        const ListenerOps *ops;
        void *userdata;
        ListNode waiting; // Conn.waits: whoever was dialled, and is to be judged
        bool closing;
};

struct TlsContext {
        unsigned refs;
        Hash pin;
        Hash ca;    // of the certificate that signed it; of a joiner: that the token names
        bool joins; // it has no key
        TlsJudge judge;
        void *userdata;
};

typedef enum PieceKind {
        PIECE_DIAL,     // the first one, to whoever listens
        PIECE_HELLO,    // whoever listens shows its key
        PIECE_FINISHED, // whoever dialled, too
        PIECE_DATA,
        PIECE_END,      // nothing more comes
        PIECE_REFUSED,  // not welcome, with the reason
} PieceKind;

typedef struct End {
        SimHost *host;    // NULL: nobody has that address
        char address[STREAM_ADDRESS_SIZE]; // that it had when the connection was made
        Stream *stream;   // NULL: not yet, or not any more
        bool gone;        // not any more
        Hash pin;         // that it shows
        Hash ca;          // likewise: of the CA that has signed it
        Buf in;           // arrived
        bool ended;       // and nothing more comes
        int lost;         // negative errno: the connection is gone
        size_t on_way;    // bytes that it has sent and that nobody has read
        uint64_t last_us; // when the last piece of it arrives
        uint64_t dies_us; // it gives up then; 0: it does not
} End;

struct Conn {
        ListNode link;  // of the net
        ListNode waits; // at a listener
        uint64_t number;
        bool local;     // over a unix socket
        SimUser user;   // who dialled that
        char alpn[32];
        uint16_t port;
        char path[108];
        bool closed;    // no piece arrives any more
        bool stray;     // an end is not where it was: no piece arrives, and nobody is told
        End ends[2];    // 0: whoever dialled
        unsigned refs;  // streams, pieces and timers on their way, a listener
};

// sim-net.c
Listener *net_find_listener(const SimHost *h, uint16_t port, const char *path);
void net_add_listener(Listener *l);
Conn *net_dial(SimHost *from, const char *address, uint16_t port, const char *path, const char *alpn);
Conn *conn_ref(Conn *c);
void conn_unref(Conn *c);
// Sends it behind what was sent before. `data`: len bytes, copied; for PIECE_REFUSED the errno.
void conn_send(Conn *c, int side, PieceKind kind, const void *data, size_t len);
size_t conn_room(const Conn *c, int side); // bytes that may be sent now
void conn_took(Conn *c, int side, size_t n); // bytes of what arrived there were read
// One end is gone. `abrupt`: what is still on its way to the other end comes, and then an error instead of
// an end.
void conn_leave(Conn *c, int side, bool abrupt);

// sim-stream.c: what arrives, from the world. The owner is told from its loop.
void stream_note(Stream *s);
void stream_note_hello(Stream *s, const Hash *pin);
void listener_note(Listener *l);
