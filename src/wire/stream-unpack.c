// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From a frame to a message. A short one is unpacked where it lies. One of more than STREAM_UNPACK_MAX bytes would hold the
// loop for milliseconds, so the pool unpacks it: the stream gives its buffer away as it is, without a copy, reads nothing
// meanwhile, and goes on behind the message when that has come to its owner. So messages come in their order, and
// whoever sends long ones delays himself.
//
// The pool also writes the log, so UNPACKING_MAX streams of a loop have a thread at a time and the others stand in a line. A
// thread cannot be called back; what it works on has memory of its own, which outlives a stream that is closed meanwhile.
//
// Fails with -EBADMSG for what is no message, and -ENOMEM; both end the stream.
#include "stream-internal.h"

#include <errno.h>

#include "frame.h"

enum {
        UNPACKING_MAX = 2, // of the pool's six threads
};

struct StreamUnpack {
        uv_work_t work;
        Stream *stream;     // NULL: closed since
        StreamUnpack *next; // in `line`
        Buf frame;
        const uint8_t *payload; // in `frame`
        size_t len;
        const ProtobufCMessageDescriptor *kind;
        ProtobufCMessage *message; // as soon as `done`; NULL: it is none
        bool done;
};

// Of the loop that this thread runs.
static _Thread_local struct {
        StreamUnpack *first, **last; // who waits for a thread; `last` NULL: nobody ever did
        unsigned n_running;
} line;

static void unpack_free(StreamUnpack *u) {
        buf_done(&u->frame);
        if (u->message)
                protobuf_c_message_free_unpacked(u->message, NULL);
        free(u);
}

static void run_next(uv_loop_t *loop);

static void on_work(uv_work_t *work) {
        StreamUnpack *u = CONTAINER_OF(work, StreamUnpack, work);

        u->message = frame_unpack(u->kind, u->payload, u->len);
        buf_done(&u->frame);
}

static void on_worked(uv_work_t *work, int status) {
        StreamUnpack *u = CONTAINER_OF(work, StreamUnpack, work);
        uv_loop_t *loop = work->loop;

        line.n_running--;
        u->done = true;
        if (u->stream)
                stream_go_on(u->stream);
        else
                unpack_free(u);
        run_next(loop);
}

static void run_next(uv_loop_t *loop) {
        while (line.first && line.n_running < UNPACKING_MAX) {
                StreamUnpack *u = line.first;

                line.first = u->next;
                if (!line.first)
                        line.last = &line.first;
                if (!u->stream) {
                        unpack_free(u);
                        continue;
                }
                (void) uv_queue_work(loop, &u->work, on_work, on_worked); // it fails only without a function
                line.n_running++;
        }
}

int stream_unpack_later(Stream *s, size_t at, size_t len) {
        size_t end = at + FRAME_HEADER_SIZE + len;
        _cleanup_buf_ Buf rest = {};
        StreamUnpack *u;

        if (buf_append(&rest, s->plain_in.data + end, s->plain_in.len - end) < 0)
                return -ENOMEM;
        u = calloc(1, sizeof(*u));
        if (!u)
                return -ENOMEM;
        u->stream = s;
        u->kind = s->message_kind;
        u->frame = s->plain_in;
        u->payload = u->frame.data + at + FRAME_HEADER_SIZE;
        u->len = len;
        s->plain_in = rest;
        rest = (Buf){};
        s->unpack = u;
        if (!line.last)
                line.last = &line.first;
        *line.last = u;
        line.last = &u->next;
        run_next(s->handle.loop);
        return 0;
}

bool stream_unpack_is_done(const Stream *s) {
        return s->unpack && s->unpack->done;
}

static int give(Stream *s, ProtobufCMessage *message) {
        int r;

        if (!message)
                return -EBADMSG;
        r = s->ops->message ? s->ops->message(s, message, s->userdata) : -EPROTO;
        protobuf_c_message_free_unpacked(message, NULL);
        return r;
}

int stream_unpack(Stream *s, const uint8_t *payload, size_t len) {
        return give(s, frame_unpack(s->message_kind, payload, len));
}

int stream_unpack_take(Stream *s) {
        StreamUnpack *u = s->unpack;
        ProtobufCMessage *message = u->message;

        s->unpack = NULL;
        u->message = NULL;
        unpack_free(u);
        return give(s, message);
}

void stream_unpack_forget(Stream *s) {
        StreamUnpack *u = s->unpack;

        if (!u)
                return;
        s->unpack = NULL;
        u->stream = NULL;
        if (u->done)
                unpack_free(u);
}
