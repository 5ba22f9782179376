// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way out. What is queued in one turn of the loop leaves together: first as much as the kernel takes at
// once, the rest by one uv_write() at a time. TLS records are made a chunk at a time and only when the chunk
// before is gone, so that a slow peer costs the plain bytes and no more.
//
// When writing fails, the reason is often still on its way to us (an alert, a last frame, then the reset):
// reading goes on for at most STREAM_FLUSH_MS before the stream fails with the write's error.
#include <errno.h>

#include "frame.h"
#include "stream-internal.h"

enum { QUEUE_COMPACT = 1024 * 1024 }; // written bytes kept at the front of the queue, at least

size_t stream_queued(const Stream *s) {
        return s->queue.len - s->queue_done + s->wire_out.len + s->flight.len - s->flight_done;
}

bool stream_has_output(const Stream *s) {
        return s->writing || stream_queued(s) > 0;
}

void stream_drop_queue(Stream *s) {
        buf_done(&s->queue);
        s->queue_done = 0;
}

static void on_write_timeout(void *userdata) {
        Stream *s = userdata;

        stream_fail(s, s->write_error, false, "connection lost: %s", strerror(-s->write_error));
}

static void fail_write(Stream *s, int error) {
        if (stream_is_closing(s)) {
                stream_close(s, error, false);
                return;
        }
        if (s->write_error < 0)
                return;
        s->write_error = error;
        stream_drop_queue(s);
        if (s->paused || s->eof)
                stream_fail(s, error, false, "connection lost: %s", strerror(-error));
        else
                time_limit_start(&s->limit, STREAM_FLUSH_MS, on_write_timeout);
}

// Bytes at the front of the queue are gone: gives memory back without moving the rest each time.
static void trim_queue(Stream *s) {
        if (s->queue_done == s->queue.len)
                buf_done(&s->queue);
        else if (s->queue_done < QUEUE_COMPACT || s->queue_done < s->queue.len / 2)
                return;
        else
                buf_consume(&s->queue, s->queue_done);
        s->queue_done = 0;
}

// The next bytes for the kernel, if nothing is in flight.
static int fill_flight(Stream *s) {
        bool has_queue = s->opened && s->queue.len > 0;
        int r;

        if (s->flight.len > 0)
                return 0;
        if (s->tls) {
                r = has_queue ? stream_tls_encrypt(s) : 0;
                trim_queue(s);
                s->flight = s->wire_out;
                s->wire_out = (Buf){};
                return r;
        }
        if (has_queue) {
                s->flight = s->queue;
                s->flight_done = s->queue_done;
                s->queue = (Buf){};
                s->queue_done = 0;
        }
        return 0;
}

static void flight_landed(Stream *s, size_t n) {
        s->flight_done += n;
        if (s->flight_done < s->flight.len)
                return;
        buf_done(&s->flight);
        s->flight_done = 0;
}

static uv_buf_t flight_rest(const Stream *s) {
        return uv_buf_init((char *) s->flight.data + s->flight_done,
                           (unsigned) (s->flight.len - s->flight_done));
}

static void on_written(uv_write_t *request, int status) {
        Stream *s = request->data;
        int r = uvx_errno(status);

        s->writing = false;
        flight_landed(s, s->flight.len - s->flight_done);
        if (s->state == STREAM_CLOSED)
                return;
        if (r < 0)
                fail_write(s, r);
        else
                stream_flush(s);
}

// Hands the flight to the kernel. 0, or negative errno.
static int write_flight(Stream *s) {
        uv_buf_t rest = flight_rest(s);
        int r;

        r = uv_try_write(&s->stream, &rest, 1);
        if (r < 0 && r != UV_EAGAIN)
                return uvx_errno(r);
        flight_landed(s, (size_t) MAX_OF(r, 0));
        if (s->flight.len == 0)
                return 0;
        rest = flight_rest(s);
        s->write.data = s;
        r = uv_write(&s->write, &s->stream, &rest, 1, on_written);
        s->writing = r == 0;
        return uvx_errno(r);
}

static void queue_is_empty(Stream *s) {
        if (s->state == STREAM_FLUSHING)
                stream_linger(s);
        if (!s->was_high || s->state != STREAM_OPEN)
                return;
        s->was_high = false;
        if (s->ops->drained)
                s->ops->drained(s, s->userdata);
}

void stream_flush(Stream *s) {
        int r;

        if (s->writing || s->write_error < 0 || s->state == STREAM_CONNECTING ||
            s->state >= STREAM_LINGERING)
                return;
        r = fill_flight(s);
        if (r == 0 && s->flight.len > 0)
                r = write_flight(s);
        if (r < 0)
                fail_write(s, r);
        else if (!stream_has_output(s))
                queue_is_empty(s);
        else if (!s->writing && s->opened)
                drain_mark(&s->drain); // the rest in the next turn
}

static int may_queue(Stream *s, size_t len) {
        if (stream_is_closing(s) || s->write_error < 0)
                return -ENOTCONN;
        if (len <= STREAM_QUEUE_MAX && stream_queued(s) <= STREAM_QUEUE_MAX - len)
                return 0;
        stream_fail(s, -ENOBUFS, false, "the peer does not take what it is sent: %zu bytes are waiting",
                    stream_queued(s) + len);
        return -ENOBUFS;
}

static void queued_more(Stream *s) {
        if (stream_queued(s) > STREAM_LOW_WATER)
                s->was_high = true;
        drain_mark(&s->drain);
}

int stream_send(Stream *s, const ProtobufCMessage *message) {
        int r;

        r = may_queue(s, 0);
        if (r < 0)
                return r;
        r = frame_append(&s->queue, message, FRAME_MAX);
        if (r < 0)
                return r;
        queued_more(s);
        return may_queue(s, 0);
}

int stream_write(Stream *s, const void *data, size_t len) {
        int r;

        r = may_queue(s, len);
        if (r < 0)
                return r;
        r = buf_append(&s->queue, data, len);
        if (r < 0)
                return r;
        queued_more(s);
        return 0;
}
