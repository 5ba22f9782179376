// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way out. What is queued in one turn of the loop leaves together: first as much as the kernel takes at
// once, the rest by one uv_write() at a time. TLS records are made a chunk at a time and only when the chunk
// before is gone, so that a slow peer costs the plain bytes and no more. These are in chunks, so that what
// waits is not copied when there is more of it, and is given back as it goes. A frame that was packed
// elsewhere is a chunk of its own: it is never copied.
//
// When writing fails, the reason is often still on its way to us (an alert, a last frame, then the reset):
// reading goes on for at most STREAM_FLUSH_MS before the stream fails with the write's error.
#include <errno.h>

#include "frame.h"
#include "stream-internal.h"

enum {
        QUEUE_COMPACT = 1024 * 1024, // written bytes kept at the front of the queue, at least
        QUEUE_CHUNK = 1024 * 1024,   // nothing is appended to a chunk that has so many
};

// A frame that was packed elsewhere, or what was sent behind a chunk.
typedef struct StreamChunk {
        ListNode link; // in Stream.behind
        Buf bytes;
        bool is_frame;
} StreamChunk;

void stream_queue_init(Stream *s) {
        list_init(&s->behind);
}

size_t stream_queued(const Stream *s) {
        return s->queue.len - s->queue_done + s->n_behind + s->wire_out.len + s->flight.len - s->flight_done;
}

static bool stream_has_output(const Stream *s) {
        return s->writing || stream_queued(s) > 0;
}

void stream_drop_queue(Stream *s) {
        buf_done(&s->queue);
        s->queue_done = 0;
        s->queue_is_frame = false;
        list_foreach_safe (n, &s->behind) {
                StreamChunk *c = CONTAINER_OF(n, StreamChunk, link);

                list_unlink(n);
                buf_done(&c->bytes);
                free(c);
        }
        s->n_behind = 0;
}

// The queue is empty: what stands behind it is the queue.
static void next_chunk(Stream *s) {
        s->queue_done = 0;
        s->queue_is_frame = false;
        // one is empty if something too long was to be appended
        while (s->queue.len == 0 && !list_is_empty(&s->behind)) {
                StreamChunk *c = CONTAINER_OF(s->behind.next, StreamChunk, link);

                list_unlink(&c->link);
                buf_done(&s->queue);
                s->queue = c->bytes;
                s->queue_is_frame = c->is_frame;
                s->n_behind -= c->bytes.len;
                free(c);
        }
}

// NULL: out of memory.
static StreamChunk *add_chunk(Stream *s, bool is_frame) {
        StreamChunk *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->is_frame = is_frame;
        list_append(&s->behind, &c->link);
        return c;
}

// Where something may be appended. NULL: out of memory.
static Buf *queue_end(Stream *s) {
        StreamChunk *last =
                list_is_empty(&s->behind) ? NULL : CONTAINER_OF(s->behind.prev, StreamChunk, link);

        if (!last && !s->queue_is_frame && s->queue.len < QUEUE_CHUNK)
                return &s->queue;
        if (!last || last->is_frame || last->bytes.len >= QUEUE_CHUNK)
                last = add_chunk(s, false);
        return last ? &last->bytes : NULL;
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
        if (s->queue_done == s->queue.len) {
                buf_done(&s->queue);
                next_chunk(s);
                return;
        }
        if (s->queue_is_frame || s->queue_done < QUEUE_COMPACT || s->queue_done < s->queue.len / 2)
                return;
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
                next_chunk(s);
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

void stream_ask_drained(Stream *s) {
        s->was_high = true;
}

// `to` has grown from that.
static void note_appended(Stream *s, const Buf *to, size_t before) {
        if (to != &s->queue)
                s->n_behind += to->len - before;
        queued_more(s);
}

int stream_send(Stream *s, const ProtobufCMessage *message) {
        Buf *to;
        size_t before;
        int r;

        r = may_queue(s, 0);
        if (r < 0)
                return r;
        to = queue_end(s);
        if (!to)
                return -ENOMEM;
        before = to->len;
        r = frame_append(to, message, FRAME_MAX);
        if (r < 0)
                return r;
        note_appended(s, to, before);
        return may_queue(s, 0);
}

int stream_send_frame(Stream *s, Buf *frame) {
        StreamChunk *c;
        int r;

        r = may_queue(s, frame->len);
        if (r < 0)
                return r;
        c = add_chunk(s, true);
        if (!c)
                return -ENOMEM;
        c->bytes = *frame;
        *frame = (Buf){};
        s->n_behind += c->bytes.len;
        if (s->queue.len == 0)
                next_chunk(s);
        queued_more(s);
        return 0;
}

int stream_write(Stream *s, const void *data, size_t len) {
        Buf *to;
        size_t before;
        int r;

        r = may_queue(s, len);
        if (r < 0)
                return r;
        to = queue_end(s);
        if (!to)
                return -ENOMEM;
        before = to->len;
        r = buf_append(to, data, len);
        if (r < 0)
                return r;
        note_appended(s, to, before);
        return 0;
}
