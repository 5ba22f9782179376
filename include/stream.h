// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A byte stream to a peer over the loop: TCP with TLS 1.3 between hosts, or a plain unix socket. It buffers, never blocks, and
// knows nothing about what it carries. Frames are cut by stream_set_frames(), raw bytes are delivered otherwise.
//
// Life: dialled by stream_dial() or made by a Listener -> `ops->opened` (TLS handshake done, peer judged) -> `ops->frame` or `ops->data`
// any number of times -> exactly one `ops->closed`. After `closed` returns the stream is gone. stream_close() may be called at any time,
// also from inside a callback; `closed` fires later from the loop with the error given (0 for a wanted close).
// A stream that was never opened also gets `closed` (with the reason), never `opened`.

#include <netinet/in.h>
#include <stdbool.h>
#include <uv.h>

#include <protobuf-c/protobuf-c.h>

#include "hash.h"

typedef struct Stream Stream;
typedef struct TlsContext TlsContext; // include/tls-context.h (room trust)

enum {
        STREAM_QUEUE_MAX = 64 * 1024 * 1024,  // bytes not yet taken by the kernel; beyond it the stream is closed with -ENOBUFS
        STREAM_HANDSHAKE_MS = 5000,           // dial + handshake must be done by then: -ETIMEDOUT
};

typedef struct StreamPeer {
        char address[INET6_ADDRSTRLEN + 1]; // numeric, empty for unix
        uint16_t port;
        Hash pin;                           // SHA-256 of the peer's SubjectPublicKeyInfo; zero without certificate
        char alpn[32];
        uid_t uid;                          // unix sockets: SO_PEERCRED
        gid_t gid;
        pid_t pid;
} StreamPeer;

typedef struct StreamOps {
        void (*opened)(Stream *s, void *userdata);
        // One whole frame's payload, valid during the call. Negative errno closes the stream with it.
        int (*frame)(Stream *s, const uint8_t *payload, size_t len, void *userdata);
        // Raw bytes when frames are not set.
        int (*data)(Stream *s, const uint8_t *data, size_t len, void *userdata);
        // The write queue has become empty after stream_queued() was over STREAM_LOW_WATER. May be NULL.
        void (*drained)(Stream *s, void *userdata);
        void (*closed)(Stream *s, int error, void *userdata);
} StreamOps;

// Connects to a numeric address (IPv4 or IPv6). `tls` NULL: plain. `expect_pin` NULL: ask the TlsContext's judge.
// 0 and *ret, or negative errno and no callback.
int stream_dial(uv_loop_t *loop, const char *address, uint16_t port, TlsContext *tls, const char *alpn, const Hash *expect_pin,
                const StreamOps *ops, void *userdata, Stream **ret);
int stream_dial_unix(uv_loop_t *loop, const char *path, const StreamOps *ops, void *userdata, Stream **ret);

// From `opened` (or a listener's accept) on: who talks, in what way. The new owner takes ops and userdata.
void stream_set_owner(Stream *s, const StreamOps *ops, void *userdata);
// Cut frames of at most `max` bytes; 0 turns it off.
void stream_set_frames(Stream *s, size_t max);
const StreamPeer *stream_peer(const Stream *s);
// Why the last handshake or transfer failed, a sentence for people; valid until the stream is gone.
const char *stream_error_text(const Stream *s);

// Queues one frame, or bytes. Written at the end of this turn of the loop, several at a time. -ENOBUFS over STREAM_QUEUE_MAX (the stream
// is being closed), -ENOTCONN if closing. The message is not kept.
int stream_send(Stream *s, const ProtobufCMessage *message);
int stream_write(Stream *s, const void *data, size_t len);
size_t stream_queued(const Stream *s);
// Stops and restarts reading (back-pressure).
void stream_pause(Stream *s, bool pause);
// Flushes what is queued (at most STREAM_FLUSH_MS) if `flush`, then closes.
void stream_close(Stream *s, int error, bool flush);

// ---- Listener: accepts for ever. Errors of one connection never end it; too many handshakes at a time wait in the backlog.
typedef struct Listener Listener;
typedef struct ListenerOps {
        // A stream whose handshake is done and whose peer the judge has accepted. Take it with stream_set_owner() or close it.
        void (*accepted)(Listener *l, Stream *s, void *userdata);
        // A connection was refused before that, for logs and metrics. May be NULL.
        void (*refused)(Listener *l, const StreamPeer *peer, const char *why, void *userdata);
        void (*closed)(Listener *l, void *userdata);
} ListenerOps;

enum { LISTENER_HANDSHAKES_MAX = 64, LISTENER_STREAMS_MAX = 4096 };

// TCP on all addresses (IPv6 socket that takes IPv4 too, or IPv4 alone where there is no IPv6). -EADDRINUSE etc.
int listener_new_tcp(uv_loop_t *loop, uint16_t port, TlsContext *tls, const ListenerOps *ops, void *userdata, Listener **ret);
// On a listening unix socket that the caller hands over (from systemd), or a path that is bound here with mode 0660.
int listener_new_unix(uv_loop_t *loop, int fd, const ListenerOps *ops, void *userdata, Listener **ret);
int listener_bind_unix(const char *path, mode_t mode, gid_t gid, int *ret_fd);
void listener_close(Listener *l);
