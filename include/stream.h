// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A byte stream to a peer over the loop: TCP with TLS 1.3 between hosts, or a plain unix socket. It buffers,
// never blocks, and knows nothing about what it carries. Frames are cut by stream_set_frames(), and made
// messages of by stream_set_messages(), in the pool if they are long, and as many in a turn of the loop as
// leave time for the rest of it (stream-share.c); raw bytes are delivered otherwise.
//
// Life: dialled by stream_dial() or made by a Listener -> `ops->opened` (TLS handshake done, peer judged) ->
// `ops->message`, `ops->frame` or `ops->data` any number of times -> exactly one `ops->closed`. After
// `closed` returns the stream is gone. stream_close() may be called at any time, also from inside a
// callback; `closed` fires later from the loop with the error given (0 for a wanted close). A stream that
// was never opened also gets `closed` (with the reason), never `opened`. One that a Listener made has been
// opened when its new owner gets it, who therefore never sees `opened`.
//
// In TLS 1.3 a dialler is done before the listener has judged its certificate: `opened` at the dialler does
// not say that the peer wants us. If it does not, `closed` follows with -EACCES, or -EKEYREVOKED if the peer
// knows our key as that of a removed member.
//
// The process must ignore SIGPIPE: a peer may be gone when its bytes leave.
//
// No callback fires from inside a call to a function of this file. All functions belong to the loop's
// thread.

#include <netinet/in.h>
#include <stdbool.h>
#include <uv.h>

#include <protobuf-c/protobuf-c.h>

#include "buf.h"
#include "hash.h"

typedef struct Stream Stream;
typedef struct TlsContext TlsContext; // include/tls-context.h (room trust)

enum {
        STREAM_ADDRESS_SIZE = INET6_ADDRSTRLEN + 1,
        STREAM_CHANNEL_SIZE = 32,
        STREAM_NAME_MAX = 253, // of a host's name to dial
        // Bytes not yet taken by the kernel; beyond it the stream is closed with -ENOBUFS.
        STREAM_QUEUE_MAX = 64 * 1024 * 1024,
        // See StreamOps.drained.
        STREAM_LOW_WATER = 256 * 1024,
        // Dial and handshake must be done by then: -ETIMEDOUT.
        STREAM_HANDSHAKE_MS = 5000,
        STREAM_PEER_GROUPS_MAX = 65536, // the kernel's NGROUPS_MAX
        // How long a close waits for the peer to take what is queued and to close its side.
        STREAM_FLUSH_MS = 1000,
        // TCP: a peer whose kernel has not answered for so long, be it to data or keep-alive, is dead.
        STREAM_USER_TIMEOUT_MS = 5000,
        // Bytes of a TCP connection that the kernel takes before it has sent them. What is said next waits
        // behind them: over 10 Mbit/s, shared by two, for 0.1 s. What is on its way to the peer is not
        // counted, so a fast connection is no slower for it.
        STREAM_UNSENT_MAX = 64 * 1024,
};

typedef struct StreamPeer {
        // Numeric, IPv4 never in its IPv6 form. Empty for unix, and until a dialled name was looked up.
        char address[STREAM_ADDRESS_SIZE];
        uint16_t port;
        Hash pin; // SHA-256 of the peer's SubjectPublicKeyInfo; zero without certificate
        char alpn[32];
        bool cert_expired; // accepted all the same; for a warning
        bool cert_outdated; // TlsPeer.outdated
        uid_t uid;         // unix sockets: SO_PEERCRED
        gid_t gid;
        pid_t pid;
} StreamPeer;

// Only `closed` must be there; a stream that gets frames (or bytes) that nobody takes is closed with
// -EPROTO.
typedef struct StreamOps {
        void (*opened)(Stream *s, void *userdata);
        // One whole frame's payload, valid during the call. Negative errno closes the stream with it.
        int (*frame)(Stream *s, const uint8_t *payload, size_t len, void *userdata);
        // One whole frame as a message, which is freed after the call; what is in it may be taken
        // (message_take()). Same.
        int (*message)(Stream *s, ProtobufCMessage *message, void *userdata);
        // Raw bytes when frames are not set. Same.
        int (*data)(Stream *s, const uint8_t *data, size_t len, void *userdata);
        // So many bytes lie here that make no whole frame yet: before there are more of them, and when there
        // are fewer. Same.
        int (*holds)(Stream *s, size_t bytes, void *userdata);
        // A whole frame has come, and the message that it is takes so many bytes of memory (frame_cost()).
        // Same; `message` follows, or `closed`. SIZE_MAX: one begins that is too long, and the stream is
        // about to be closed.
        int (*unpacks)(Stream *s, size_t bytes, void *userdata);
        // The write queue has become empty after stream_queued() was over STREAM_LOW_WATER, or after
        // stream_ask_drained().
        void (*drained)(Stream *s, void *userdata);
        // A peer that ends the connection in order, too, is an error: -ECONNRESET.
        void (*closed)(Stream *s, int error, void *userdata);
} StreamOps;

// Connects to a numeric address (IPv4 or IPv6), or to a name, which is looked up in the pool first (of
// several addresses any one: who dials again may get another). `tls` NULL: plain, `alpn` and `expect_pin`
// unused. `expect_pin` NULL: ask the TlsContext's judge. 0 and *ret, or negative errno and no callback
// (-EINVAL: no address, and too long for a name). Frames and bytes may be sent at once; they leave when the
// stream is open. `ops` must outlive the stream.
int stream_dial(uv_loop_t *loop, const char *address, uint16_t port, TlsContext *tls, const char *alpn,
                const Hash *expect_pin, const StreamOps *ops, void *userdata, Stream **ret);
// -EINVAL: the path does not fit into a socket address.
int stream_dial_unix(uv_loop_t *loop, const char *path, const StreamOps *ops, void *userdata, Stream **ret);

// From `opened` (or a listener's `accepted`) on, also from inside `frame`: who gets the callbacks from now
// on.
void stream_set_owner(Stream *s, const StreamOps *ops, void *userdata);
// Cut frames of at most `max` payload bytes; 0 turns it off. A longer one closes the stream with -EMSGSIZE.
void stream_set_frames(Stream *s, size_t max);
// Likewise, and each is a message of that kind; one that is none closes the stream with -EBADMSG.
void stream_set_messages(Stream *s, const ProtobufCMessageDescriptor *kind, size_t max);
// A message of a member that takes more memory than that when it is unpacked closes the stream with
// -EBADMSG, and is not unpacked.
void stream_set_cost_max(Stream *s, size_t bytes);
// A frame that has begun comes whole in so many milliseconds, or the stream is closed with -ETIMEDOUT. Uses
// the deadline below.
void stream_set_frame_deadline(Stream *s, unsigned ms);
// The sender's account: a long frame waits for those of other accounts while another one of the same account
// is being unpacked (PoolWork.of). A message that takes no more than `untold` bytes is unpacked before
// `unpacks` is told of it, which spares a way to the pool: for senders that have a reason not to send too
// many.
void stream_set_sender(Stream *s, const void *of, size_t untold);
// Closes the stream with -ETIMEDOUT in so many milliseconds, e.g. for a first frame that does not come. 0
// takes it back.
void stream_set_deadline(Stream *s, unsigned ms);
const StreamPeer *stream_peer(const Stream *s);
// The supplementary groups that the peer of an open unix stream had when it connected (SO_PEERGROUPS), as an
// array that the caller frees. -E2BIG: more than STREAM_PEER_GROUPS_MAX.
int stream_peer_groups(const Stream *s, gid_t **ret, size_t *ret_n);
// A secret that the two ends of this open TLS stream share with nobody else, not with who stands between
// them either: the exporter of RFC 8446, section 7.5. -ENOTCONN: it has no TLS, or is not open.
int stream_channel(const Stream *s, uint8_t ret[static STREAM_CHANNEL_SIZE]);
// Our own end of an open TCP stream, numeric. False (and an empty text) for any other.
bool stream_local_address(const Stream *s, char ret[STREAM_ADDRESS_SIZE]);
// Numeric, IPv4 never in its IPv6 form; empty for other families. Returns the port.
uint16_t stream_address_text(const struct sockaddr *from, char ret[STREAM_ADDRESS_SIZE]);
// Why the stream failed, a sentence for people without a full stop; empty if it did not. Valid until the
// stream is gone.
const char *stream_error_text(const Stream *s);

// Queues one frame, or bytes. Written at the end of this turn of the loop, several at a time. -ENOBUFS over
// STREAM_QUEUE_MAX (the stream is being closed), -ENOTCONN if closing, -EMSGSIZE beyond FRAME_MAX and
// -ENOMEM (nothing queued). The message is not kept.
int stream_send(Stream *s, const ProtobufCMessage *message);
// A frame that somebody has packed (frame_pack()), however long: its bytes are the stream's from then on,
// and `frame` is empty, if the result is 0.
int stream_send_frame(Stream *s, Buf *frame);
int stream_write(Stream *s, const void *data, size_t len);
size_t stream_queued(const Stream *s);
// `drained` follows when the write queue has become empty, however little is in it now. Only while something
// is.
void stream_ask_drained(Stream *s);
// Stops and restarts the delivery of frames and bytes, and the reading (back-pressure). While paused the end
// of the connection is not noticed, unless writing fails.
void stream_pause(Stream *s, bool pause);
// Closes. With `flush`, first writes what is queued and waits until the peer has closed its side too, so
// that nothing of it is lost: at most STREAM_FLUSH_MS. What the kernel takes at once is written before it
// returns. The first call's error counts; a second call without flush cuts a flush short.
void stream_close(Stream *s, int error, bool flush);

// ---- Listener: accepts for ever. Errors of one connection never end it; too many handshakes at a time wait
// in the backlog, and when descriptors or memory run out it pauses and tries again.
typedef struct Listener Listener;
typedef struct ListenerOps {
        // A stream whose handshake is done and whose peer the judge has accepted. Take it with
        // stream_set_owner() (now), or it is closed.
        void (*accepted)(Listener *l, Stream *s, void *userdata);
        // A connection was refused before that, for logs and metrics. An empty peer (no address): nobody was
        // refused, accepting is paused. May be NULL.
        void (*refused)(Listener *l, const StreamPeer *peer, const char *why, void *userdata);
        // Nothing is heard of the listener any more, and it is gone. Streams that were taken live on.
        void (*closed)(Listener *l, void *userdata);
} ListenerOps;

enum {
        LISTENER_HANDSHAKES_MAX = 512, // at a time; about 25 KiB each
        LISTENER_STREAMS_MAX = 20480,  // at a time, those that were taken included: a link of each host, and
                                       // some
        LISTENER_ACCEPTS_PER_TURN = 16,
        LISTENER_STEPS_PER_TURN = 6, // of handshakes; each about half a millisecond
        LISTENER_EVICT_MS = 1000,    // with all handshakes taken, one older than this gives way
        LISTENER_PAUSE_MS = 100,     // after running out of descriptors or memory
};

// A TCP socket on all addresses (IPv6 that takes IPv4 too, or IPv4 alone where there is no IPv6). Port 0:
// any free one; *ret_port is which. Nobody can connect yet, and no other program gets the port. -EADDRINUSE
// etc.
int listener_bind_tcp(uint16_t port, int *ret_fd, uint16_t *ret_port);
// On a socket from listener_bind_tcp(), which is the listener's on success only.
int listener_new_bound(uv_loop_t *loop, int fd, TlsContext *tls, const ListenerOps *ops, void *userdata,
                       Listener **ret);
// Both at once.
int listener_new_tcp(uv_loop_t *loop, uint16_t port, TlsContext *tls, const ListenerOps *ops, void *userdata,
                     Listener **ret);
// On a listening unix socket: from systemd, or from listener_bind_unix(). The fd is the listener's on
// success only.
int listener_new_unix(uv_loop_t *loop, int fd, const ListenerOps *ops, void *userdata, Listener **ret);
// Replaces a socket that a dead process left behind; -EADDRINUSE if a live one listens there, -EEXIST if it
// is no socket. gid (gid_t) -1: leave it.
int listener_bind_unix(const char *path, mode_t mode, gid_t gid, int *ret_fd);
// The port of a TCP listener.
uint16_t listener_port(const Listener *l);
void listener_close(Listener *l);
