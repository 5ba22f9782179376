// SPDX-License-Identifier: LGPL-2.1-or-later

// Carries libraft's bytes between a stream to a peer and a socket pair whose other end libraft reads and
// writes.
//
//      peer -> on_stream_frame(): marks, then the bytes -> the socket pair -> libraft
//      libraft -> on_pipe_read(): marks in front -> stream_write() -> peer
//
// Both directions pause at a high-water mark (BRIDGE_HIGH_WATER, BRIDGE_UNSENT_MAX bytes). libraft owns its
// end. Any error closes the bridge; ops.closed() is called when the stream and our end of the pair have both
// closed.

#include <endian.h>
#include <errno.h>
#include <raft.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge.h"
#include "tls-context.h"
#include "uvx.h"

typedef struct Write {
        uv_write_t req;
        Bridge *bridge;
        size_t len;
        char data[];
} Write;

static void maybe_closed(Bridge *b) {
        if (!b->stream && !b->pipe_open)
                b->ops->closed(b, b->userdata);
}

static void on_pipe_closed(uv_handle_t *h) {
        Bridge *b = h->data;

        b->pipe_open = false;
        maybe_closed(b);
}

void bridge_close(Bridge *b) {
        if (b->closing)
                return;
        b->closing = true;
        if (b->stream)
                stream_close(b->stream, 0, false);
        uv_close((uv_handle_t *) &b->pipe, on_pipe_closed);
}

// ---- peer -> libraft

static void on_written(uv_write_t *req, int status) {
        Write *w = req->data;
        Bridge *b = w->bridge;

        b->queued -= w->len;
        free(w);
        if (status < 0)
                bridge_close(b);
        else if (b->stream_paused && b->queued <= BRIDGE_LOW_WATER && b->stream) {
                b->stream_paused = false;
                stream_pause(b->stream, false);
        }
}

static int queue_write(Bridge *b, const uint8_t *data, size_t len) {
        Write *w = malloc(sizeof(*w) + len);
        uv_buf_t buf;
        int r;

        if (!w)
                return -ENOMEM;
        *w = (Write){.req.data = w, .bridge = b, .len = len};
        memcpy(w->data, data, len);
        buf = uv_buf_init(w->data, len);
        r = uv_write(&w->req, (uv_stream_t *) &b->pipe, &buf, 1, on_written);
        if (r < 0) {
                free(w);
                return uvx_errno(r);
        }
        b->queued += len;
        if (b->queued > BRIDGE_HIGH_WATER && !b->stream_paused) {
                b->stream_paused = true;
                stream_pause(b->stream, true);
        }
        return 0;
}

static int on_stream_data(Stream *s, const uint8_t *data, size_t len, void *userdata) {
        Bridge *b = userdata;
        uv_buf_t buf = uv_buf_init((char *) data, len);
        int n;

        if (b->closing)
                return 0;
        b->received_ms = uv_now(b->pipe.loop);
        n = b->queued > 0 ? UV_EAGAIN : uv_try_write((uv_stream_t *) &b->pipe, &buf, 1);
        if (n == UV_EAGAIN)
                n = 0;
        if (n < 0)
                return uvx_errno(n);
        return (size_t) n < len ? queue_write(b, data + n, len - (size_t) n) : 0;
}

static int on_stream_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        Bridge *b = userdata;
        const uint8_t *data;
        Marks marks;
        int r;

        if (b->closing)
                return 0;
        r = marks_decode(payload, len, &marks, &data, &len);
        if (r < 0)
                return r;
        b->ops->marks(b, &marks, b->userdata); // before the bytes: libraft's callbacks read the marks
        r = len > 0 ? on_stream_data(s, data, len, userdata) : 0;
        if (r == 0 && !b->closing)
                b->ops->piece(b, &marks, len, b->userdata);
        return r;
}

// ---- libraft -> peer

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret) {
        Bridge *b = h->data;

        *ret = uv_buf_init(b->buffer + BRIDGE_ROOM_SIZE, BRIDGE_READ_SIZE);
}

static int pass_on(Bridge *b, size_t len) {
        uint32_t size = htobe32((uint32_t) (MARKS_SIZE + len));
        Marks marks = {};

        b->sent_ms = uv_now(b->pipe.loop);
        b->ops->fill(b, &marks, b->userdata);
        memcpy(b->buffer, &size, FRAME_HEADER_SIZE);
        marks_encode(&marks, (uint8_t *) b->buffer + FRAME_HEADER_SIZE);
        return stream_write(b->stream, b->buffer, BRIDGE_ROOM_SIZE + len);
}

void bridge_say_marks(Bridge *b, uint64_t pace_ms) {
        if (b->closing || !b->stream || stream_queued(b->stream) > 0 ||
            uv_now(b->pipe.loop) < b->sent_ms + pace_ms)
                return;
        if (pass_on(b, 0) < 0)
                bridge_close(b);
}

static void on_pipe_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *buf) {
        Bridge *b = pipe->data;

        if (n == 0)
                return;
        if (n < 0 || pass_on(b, (size_t) n) < 0) {
                bridge_close(b);
                return;
        }
        if (stream_queued(b->stream) > BRIDGE_UNSENT_MAX) {
                b->pipe_paused = true;
                uv_read_stop(pipe);
                stream_ask_drained(b->stream);
        }
}

static void on_stream_drained(Stream *s, void *userdata) {
        Bridge *b = userdata;

        if (!b->pipe_paused || b->closing)
                return;
        b->pipe_paused = false;
        if (uv_read_start((uv_stream_t *) &b->pipe, on_alloc, on_pipe_read) < 0)
                bridge_close(b);
}

static void on_stream_closed(Stream *s, int error, void *userdata) {
        Bridge *b = userdata;

        b->stream = NULL;
        bridge_close(b);
        maybe_closed(b);
}

static const StreamOps stream_ops = {
        .frame = on_stream_frame,
        .drained = on_stream_drained,
        .closed = on_stream_closed,
};

// ---- life

static void on_raft_pipe_closed(uv_handle_t *h) {
        raft_free(h);
}

static void on_half_made_closed(uv_handle_t *h) {
        free(h->data);
}

static int pipe_attach(uv_loop_t *loop, uv_pipe_t *pipe, int *fd) {
        int r = uv_pipe_open(pipe, *fd);

        if (r < 0)
                return uvx_errno(r);
        *fd = -1; // the handle's now
        return 0;
}

int bridge_new(uv_loop_t *loop, Stream *stream, const BridgeOps *ops, void *userdata, Bridge **ret,
               uv_stream_t **ret_pipe) {
        Bridge *b = malloc(sizeof(*b));
        uv_pipe_t *theirs = raft_malloc(sizeof(*theirs));
        int fds[2] = {-1, -1}, r;

        if (!b || !theirs || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0) {
                r = b && theirs ? -errno : -ENOMEM;
                free(b);
                raft_free(theirs);
                return r;
        }
        *b = (Bridge){
                .stream = stream,
                .ops = ops,
                .userdata = userdata,
                .received_ms = uv_now(loop),
        };
        list_init(&b->node);
        uv_pipe_init(loop, &b->pipe, 0);
        uv_pipe_init(loop, theirs, 0);
        b->pipe.data = b;
        r = pipe_attach(loop, &b->pipe, &fds[0]);
        if (r >= 0)
                r = pipe_attach(loop, theirs, &fds[1]);
        if (r >= 0)
                r = uvx_errno(uv_read_start((uv_stream_t *) &b->pipe, on_alloc, on_pipe_read));
        if (r < 0) {
                for (size_t i = 0; i < 2; i++)
                        if (fds[i] >= 0)
                                close(fds[i]);
                uv_close((uv_handle_t *) &b->pipe, on_half_made_closed);
                uv_close((uv_handle_t *) theirs, on_raft_pipe_closed);
                return r;
        }
        b->pipe_open = true;
        stream_set_frames(stream, BRIDGE_FRAME_MAX);
        stream_set_owner(stream, &stream_ops, b);
        *ret = b;
        *ret_pipe = (uv_stream_t *) theirs;
        return 0;
}
