// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From a frame to a message. A short one is unpacked where it lies. One of more than STREAM_UNPACK_MAX
// bytes, or that becomes more than STREAM_UNPACK_COST, would hold the loop for milliseconds, so the pool
// unpacks it: the stream gives its buffer away as it is, without a copy, reads nothing meanwhile, and goes
// on behind the message when that has come to its owner. So messages come in their order, and a sender of
// long ones delays only itself. The pool also frees what of a long one the owner did not take.
//
//      frame -> [counted] -> ops->unpacks() -> unpacked -> ops->message() -> freed
//
// Streams whose owner counts (StreamOps.unpacks) are those of guests, and the others are members'
// (PoolShare). What a member's message may take has a limit (stream_set_cost_max()), and the next long one
// is not unpacked before the one before is freed, as far as nobody has taken of it. A thread cannot be
// called back, so a stream that is closed meanwhile is there, and with its owner the account of what is
// worked on, until the pool lets go of that; what stands in line still is passed over.
//
// Fails with -EBADMSG for what is no message, -ENOMEM, and whatever the owner says; all of them end the
// stream.
#include "stream-internal.h"

#include <errno.h>

#include "frame.h"
#include "message.h"
#include "pool.h"

struct StreamUnpack {
        PoolWork work;
        Stream *stream;
        _Atomic bool forgotten; // it is being closed: nobody waits for the message
        Buf frame;
        const uint8_t *payload; // in `frame`
        size_t len;
        const ProtobufCMessageDescriptor *kind;
        size_t cost;               // SIZE_MAX: it is no message
        size_t untold;
        size_t most;               // that it may take; 0: whatever it does
        ProtobufCMessage *message; // as soon as `done`; NULL: it is none
        int error;                 // the owner's
        bool done;
};

static void unpack_free(StreamUnpack *u) {
        buf_done(&u->frame);
        if (u->message)
                message_retire(u->work.loop, u->message);
        free(u);
}

static PoolShare share_of(const Stream *s) {
        return s->ops->unpacks ? POOL_GUESTS : POOL_CLUSTER;
}

static void unpack(StreamUnpack *u) {
        if (u->most == 0 || frame_cost(u->kind, u->payload, u->len, u->most) != SIZE_MAX)
                u->message = frame_unpack(u->kind, u->payload, u->len);
        buf_done(&u->frame);
}

static void run_unpack(PoolWork *w) {
        StreamUnpack *u = CONTAINER_OF(w, StreamUnpack, work);

        if (!u->forgotten)
                unpack(u);
}

static void run_count(PoolWork *w) {
        StreamUnpack *u = CONTAINER_OF(w, StreamUnpack, work);

        if (u->forgotten)
                return;
        u->cost = frame_cost(u->kind, u->payload, u->len, SIZE_MAX);
        if (u->cost <= u->untold)
                unpack(u);
}

static void on_unpacked(PoolWork *w) {
        StreamUnpack *u = CONTAINER_OF(w, StreamUnpack, work);
        Stream *s = u->stream;

        u->done = true;
        if (u->forgotten)
                unpack_free(u);
        else
                stream_go_on(s);
        stream_release(s);
}

static int tell_owner(Stream *s, size_t len, size_t cost) {
        return cost == SIZE_MAX ? -EBADMSG : s->ops->unpacks(s, cost, s->userdata);
}

static void on_counted(PoolWork *w) {
        StreamUnpack *u = CONTAINER_OF(w, StreamUnpack, work);

        u->error = u->forgotten ? 0 : tell_owner(u->stream, u->len, u->cost);
        if (!u->forgotten && u->error == 0 && u->cost > u->untold)
                pool_add(w->loop, w, share_of(u->stream), run_unpack, on_unpacked);
        else
                on_unpacked(w);
}

static void on_released(PoolWork *w) {
        pool_add(w->loop, w, POOL_CLUSTER, run_unpack, on_unpacked);
}

bool stream_unpack_is_long(const Stream *s, const uint8_t *payload, size_t len) {
        if (s->ops->unpacks)
                return len > STREAM_GUEST_UNPACK_MAX;
        return len > STREAM_UNPACK_MAX ||
               (len > STREAM_UNCOUNTED &&
                frame_cost(s->message_kind, payload, len, STREAM_UNPACK_COST) == SIZE_MAX);
}

int stream_unpack_later(Stream *s, size_t at, size_t len, bool counted) {
        size_t end = at + FRAME_HEADER_SIZE + len;
        _cleanup_buf_ Buf rest = {.secret = true};
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
        u->untold = s->untold;
        u->most = s->cost_max;
        u->work.of = s->sender;
        s->plain_in = rest;
        rest = (Buf){};
        s->unpack = u;
        s->n_handles++;
        if (s->ops->unpacks && !counted)
                pool_add(s->handle.loop, &u->work, share_of(s), run_count, on_counted);
        else if (s->gave_long && !s->ops->unpacks)
                pool_after_releases(s->handle.loop, &u->work, on_released);
        else
                pool_add(s->handle.loop, &u->work, share_of(s), run_unpack, on_unpacked);
        return 0;
}

int stream_unpack_count(Stream *s, const uint8_t *payload, size_t len, size_t *ret_cost) {
        *ret_cost = frame_cost(s->message_kind, payload, len, SIZE_MAX);
        return tell_owner(s, len, *ret_cost);
}

size_t stream_unpack_held(const Stream *s) {
        return s->unpack ? s->unpack->len : 0;
}

bool stream_unpack_is_done(const Stream *s) {
        return s->unpack && s->unpack->done;
}

static int give(Stream *s, ProtobufCMessage *message) {
        if (!message)
                return -EBADMSG;
        return s->ops->message ? s->ops->message(s, message, s->userdata) : -EPROTO;
}

int stream_unpack(Stream *s, const uint8_t *payload, size_t len) {
        ProtobufCMessage *message = frame_unpack(s->message_kind, payload, len);
        int r = give(s, message);

        message_free(message);
        return r;
}

int stream_unpack_take(Stream *s) {
        StreamUnpack *u = s->unpack;
        int r;

        s->unpack = NULL;
        s->gave_long = true;
        r = u->error < 0 ? u->error : give(s, u->message);
        unpack_free(u);
        return r;
}

void stream_unpack_forget(Stream *s) {
        StreamUnpack *u = s->unpack;

        if (!u)
                return;
        s->unpack = NULL;
        if (u->done)
                unpack_free(u);
        else
                u->forgotten = true;
}
