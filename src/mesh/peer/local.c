// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Our own agent talking to our own leader. Messages are packed and unpacked as for any other host, and are
// delivered in the next turn of the loop: no callback runs inside its own caller, and what works here works
// over a link.
#include "local.h"

#include <errno.h>

#include "frame.h"
#include "message.h"
#include "stream.h"

void local_init(Local *l, Drain *drain, const LocalOps *ops, void *userdata) {
        *l = (Local){.drain = drain, .ops = ops, .userdata = userdata};
}

void local_done(Local *l) {
        buf_done(&l->to_leader);
        buf_done(&l->to_host);
}

bool local_is_up(const Local *l) {
        return l->leading && l->up && l->notified_epoch == l->epoch;
}

bool local_is_full(const Local *l) {
        return l->to_host.len > STREAM_LOW_WATER;
}

static int queue_message(Local *l, Buf *queue, const ProtobufCMessage *message) {
        int r;

        if (!local_is_up(l))
                return -ENOTCONN;
        if (queue->len > STREAM_QUEUE_MAX)
                return -ENOBUFS;
        r = frame_append(queue, message, FRAME_MAX);
        if (r == 0)
                drain_mark(l->drain);
        return r;
}

int local_send_to_leader(Local *l, const Argosy__ToVoter *message) {
        return queue_message(l, &l->to_leader, &message->base);
}

int local_send_to_host(Local *l, const Argosy__ToHost *message) {
        return queue_message(l, &l->to_host, &message->base);
}

static void set_up(Local *l, bool up) {
        l->up = up;
        buf_done(&l->to_leader);
        buf_done(&l->to_host);
        l->ops->link(up, l->userdata);
}

void local_update(Local *l) {
        if (l->up && (!l->leading || l->notified_epoch != l->epoch))
                set_up(l, false);
        l->notified_epoch = l->epoch;
        if (l->leading && !l->up)
                set_up(l, true);
}

void local_restart(Local *l) {
        l->epoch++;
        drain_mark(l->drain);
}

void local_set_leading(Local *l, bool leading) {
        l->leading = leading;
        l->epoch++;
}

static void give_to_leader(Local *l, const uint8_t *payload, size_t len) {
        Argosy__ToVoter *message = argosy__to_voter__unpack(NULL, len, payload);

        if (!message) { // out of memory: as between two hosts, no message is lost without the link
                local_restart(l);
                return;
        }
        l->ops->to_leader(message, l->userdata);
        message_free(message);
}

static void give_to_host(Local *l, const uint8_t *payload, size_t len) {
        Argosy__ToHost *message = argosy__to_host__unpack(NULL, len, payload);

        if (!message) { // out of memory: as between two hosts, no message is lost without the link
                local_restart(l);
                return;
        }
        l->ops->to_host(message, l->userdata);
        message_free(message);
}

// What was queued up to now; what the callbacks add is for the next turn.
static void deliver(Local *l, Buf *queue, void (*give)(Local *l, const uint8_t *payload, size_t len)) {
        _cleanup_buf_ Buf batch = *queue;
        uint64_t epoch = l->epoch;
        const uint8_t *payload;
        size_t done = 0, len;

        *queue = (Buf){};
        while (local_is_up(l) && l->epoch == epoch &&
               frame_peek(batch.data + done, batch.len - done, FRAME_MAX, &payload, &len) > 0) {
                done += FRAME_HEADER_SIZE + len;
                give(l, payload, len);
        }
}

void local_deliver(Local *l, bool host_listens) {
        if (l->to_leader.len > 0)
                deliver(l, &l->to_leader, give_to_leader);
        if (!host_listens)
                buf_done(&l->to_host);
        if (l->to_host.len > 0) {
                bool was_full = local_is_full(l);

                deliver(l, &l->to_host, give_to_host);
                if (was_full)
                        l->ops->drained(l->userdata);
        }
}
