// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What stream.c (life, reading), stream-lookup.c (names), stream-share.c (how much in a turn),
// stream-unpack.c (messages), stream-write.c (the queue) and stream-tls.c (handshake and records) know of
// each other, and what the listener needs.
//
//   bytes in:  kernel -> wire_in (TLS only) -> plain_in -> message(), frame() or data()
//   bytes out: stream_send() -> queue -> wire_out (TLS only) -> flight -> kernel
//
// Buffers are freed whenever they are empty: an idle stream holds none.

#include "buf.h"
#include "list.h"
#include "pool.h"
#include "stream.h"
#include "time-limit.h"
#include "tls-context.h"
#include "uvx.h"

enum {
        STREAM_READ_SIZE = 64 * 1024,    // of one read(2)
        STREAM_WRITE_CHUNK = 256 * 1024, // encrypted at a time: bounds both memory and the time of one turn
        STREAM_UNPACK_MAX = 128 * 1024,  // of a frame in the loop
        STREAM_UNPACK_COST = 512 * 1024, // and of what its message takes: a millisecond, if it is made of
                                         // small things
        STREAM_UNCOUNTED = 4 * 1024,     // of a member's frame, of which nothing can be made that takes more
                                         // than that
        STREAM_MEMBERS_US = 2000,        // of a turn, for what all members say together (stream-share.c)
        STREAM_SHORT_FRAME = 512,        // beside that: the first short ones of each stream
        STREAM_SHORT_FRAMES = 4,
        STREAM_RETIRED = 256 * 1024,     // what has come, and is given back by the pool if it is more
        STREAM_GUEST_ROOM = 256 * 1024,  // of a guest's frame that has come: from then on all of it has its
                                         // place
        // For guests (StreamOps.unpacks), of which many may come at once, each with the worst input: bytes
        // of a frame that the loop unpacks, and frames in one turn.
        STREAM_GUEST_UNPACK_MAX = 16 * 1024,
        STREAM_GUEST_FRAMES = 16,
        STREAM_GUESTS_GO_ON = 4,  // that have more to say, in one turn
        STREAM_GUESTS_FRAMES = 64, // and more, while all of them together have sent no more than that
};

typedef enum StreamState {
        STREAM_CONNECTING,
        STREAM_HANDSHAKING, // TLS
        STREAM_OPEN,
        STREAM_FLUSHING,  // being closed: the queue is written, nothing is delivered
        STREAM_LINGERING, // our side is shut down, waiting for the peer's
        STREAM_CLOSED,    // handles are closing
} StreamState;

// What the listener wants to know of its streams.
typedef struct StreamHooks {
        // Bytes for the handshake are here. False: not now; reading stops until stream_handshake_on().
        bool (*may_shake)(void *data);
        // The stream's memory goes, behind `closed`.
        void (*on_free)(void *data);
} StreamHooks;

typedef struct StreamLookup StreamLookup;
typedef struct StreamUnpack StreamUnpack;

struct Stream {
        union {
                uv_handle_t handle;
                uv_stream_t stream;
                uv_tcp_t tcp;
                uv_pipe_t pipe;
        };
        TimeLimit limit;  // connecting, handshake, deadline of the owner, flush
        Drain drain;      // write and deliver once per turn
        uv_connect_t connect;
        StreamLookup *lookup; // of the name that was dialled, while it is under way
        uv_write_t write;
        uv_shutdown_t shutdown;
        unsigned n_handles; // not yet closed; and what the pool works on

        StreamState state;
        bool opened, paused, eof, writing, was_high, sent_bye;
        int error;       // given to closed()
        int write_error; // writing failed; the reason may still be readable
        char why[192];

        const StreamOps *ops;
        void *userdata;
        const StreamHooks *hooks; // the listener's; NULL: dialled
        void *hooks_data;

        TlsSession *tls; // NULL: plain
        bool has_expect_pin;
        Hash expect_pin;
        StreamPeer peer;

        size_t frame_max;
        unsigned frame_ms;  // a frame that has begun is whole by then; 0: whenever it likes
        bool awaits_rest;   // one has begun, and the limit runs for it
        unsigned n_given;   // frames of a guest since the drain ran; of a member at `given_ms`
        uint64_t given_ms;  // the loop's time
        bool had_its_turn;  // it has read as much as it may in this turn, and reads on in the next
        ListNode line;      // of members that do
        size_t held;        // as `holds` was told last
        const void *sender;
        size_t untold;
        size_t cost_max;    // of a member's message; 0: whatever it takes
        bool gave_long;     // the pool may still be freeing the message before
        const ProtobufCMessageDescriptor *message_kind; // NULL: frames are given as they are
        PoolWork retiring;    // when all else has ended
        StreamUnpack *unpack; // of a long one, until its owner has it; nothing is read and nothing given
                              // meanwhile
        Buf wire_in; // the first wire_in_done bytes were pulled
        size_t wire_in_done;
        Buf plain_in;
        Buf queue; // plain; the first queue_done bytes are gone
        size_t queue_done;
        bool queue_is_frame; // that was packed elsewhere: nothing is appended to it
        ListNode behind;     // StreamChunk: what comes behind the queue
        size_t n_behind;     // bytes
        Buf wire_out;
        Buf flight; // on its way, libuv may hold a pointer into it; the first flight_done bytes are gone
        size_t flight_done;
};

// An accepted socket, consumed in every case, and the address that accept() gave. `tls` NULL: plain, and the
// stream is open at once (no `opened`).
int stream_new_accepted(uv_loop_t *loop, int fd, const struct sockaddr_storage *from, TlsContext *tls,
                        const StreamOps *ops, void *userdata, Stream **ret);
void stream_set_hooks(Stream *s, const StreamHooks *hooks, void *data);
// After may_shake() said no.
void stream_handshake_on(Stream *s);

// stream.c
// The stream failed: closes it with this error and a text, unless it is closing already. `notify_peer`:
// flush first (TLS alerts).
// One of its handles is closed, or the pool is done with something of it. With the last of them it is gone.
void stream_release(Stream *s);
void stream_fail(Stream *s, int error, bool notify_peer, const char *format, ...) _printf_(4, 5);
void stream_set_open(Stream *s);
// Everything is written: shuts down our side and waits for the peer's.
void stream_linger(Stream *s);
static inline bool stream_is_closing(const Stream *s) {
        return s->state >= STREAM_FLUSHING;
}

// A long frame has been unpacked.
void stream_go_on(Stream *s);

// Connects to what was dialled, or looked up.
void stream_connect(Stream *s, const struct sockaddr *where);

// stream-lookup.c
// Of `name` and the peer's port, then connects; or fails the stream.
void stream_lookup(Stream *s, const char *name);
void stream_lookup_forget(Stream *s); // nothing comes back any more

// stream-share.c
// Around what is given and read, for the time that it takes.
void stream_share_begin(Stream *s);
// Whether this turn has room for what has been unpacked, or stands at `done` of plain_in.
bool stream_may_give(const Stream *s, size_t done);
void stream_count_given(Stream *s);
// Whether it has room for one more read of STREAM_READ_SIZE.
bool stream_may_read_on(Stream *s);
// Whether one that waits has its turn now. If not, its drain comes again.
bool stream_share_may_go_on(Stream *s);
// It goes on in the next turn, or when its turn comes in the line: its drain is marked then.
void stream_share_wait(Stream *s);
void stream_share_leave(Stream *s); // the line, perhaps
// The next stream that goes on in this turn; NULL: none. For the end of a drain.
Stream *stream_share_next(const Stream *s);

// stream-unpack.c
// Whether the pool is to unpack it.
bool stream_unpack_is_long(const Stream *s, const uint8_t *payload, size_t len);
// One frame's payload that is short, to the owner as a message. Negative errno: the stream is to end.
int stream_unpack(Stream *s, const uint8_t *payload, size_t len);
// Tells the owner what a short one is going to take. *ret_cost: that. Negative errno: the stream is to end.
int stream_unpack_count(Stream *s, const uint8_t *payload, size_t len, size_t *ret_cost);
// The frame at `at` of plain_in, with so long a payload, which is gone from there with what stood before it:
// the pool's, until stream_go_on(). `counted`: its owner has been told. -ENOMEM: nothing has happened.
int stream_unpack_later(Stream *s, size_t at, size_t len, bool counted);
size_t stream_unpack_held(const Stream *s); // bytes of the frame
bool stream_unpack_is_done(const Stream *s);
// What is done, to the owner. Like stream_unpack().
int stream_unpack_take(Stream *s);
void stream_unpack_forget(Stream *s); // nothing comes back any more

// stream-write.c
void stream_flush(Stream *s);
void stream_queue_init(Stream *s);
// What has not been made into records or handed to the kernel.
void stream_drop_queue(Stream *s);

// stream-tls.c
int stream_tls_start(Stream *s, TlsContext *tls, bool server, const char *alpn);
// Handshake, then records from wire_in to plain_in, as far as the bytes go. May close the stream.
void stream_tls_step(Stream *s);
// Up to STREAM_WRITE_CHUNK bytes from the queue, as records, to wire_out.
int stream_tls_encrypt(Stream *s);
void stream_tls_bye(Stream *s);
