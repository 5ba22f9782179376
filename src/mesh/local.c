// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Our own agent talking to our own leader. Messages are packed and unpacked as for any other host, and are
// delivered in the next turn of the loop: nobody is called from inside his own call, and what works here
// works over a link.
#include <errno.h>

#include "frame.h"
#include "mesh-internal.h"

bool local_is_up(const Mesh *m) {
        return m->leading && m->local_up && m->local_told_epoch == m->local_epoch;
}

int local_send(Mesh *m, Buf *queue, const ProtobufCMessage *message) {
        int r;

        if (!local_is_up(m))
                return -ENOTCONN;
        if (queue->len > STREAM_QUEUE_MAX)
                return -ENOBUFS;
        r = frame_append(queue, message, FRAME_MAX);
        if (r == 0)
                drain_mark(&m->drain);
        return r;
}

static void set_up(Mesh *m, bool up) {
        Argosy__ToVoter__Hello hello = ARGOSY__TO_VOTER__HELLO__INIT;

        m->local_up = up;
        buf_done(&m->to_leader);
        buf_done(&m->to_host);
        mesh_fill_hello(m, &hello);
        m->ops->host_link(m->self, up ? &hello : NULL, m->userdata);
}

void local_update(Mesh *m) {
        if (m->local_up && (!m->leading || m->local_told_epoch != m->local_epoch))
                set_up(m, false);
        m->local_told_epoch = m->local_epoch;
        if (m->leading && !m->local_up)
                set_up(m, true);
}

void local_restart(Mesh *m) {
        m->local_epoch = ++m->last_epoch;
        drain_mark(&m->drain);
}

static void give_to_leader(Mesh *m, const uint8_t *payload, size_t len) {
        Argosy__ToVoter *message = argosy__to_voter__unpack(NULL, len, payload);

        if (!message) { // out of memory: as between two hosts, no message is lost without the link
                local_restart(m);
                return;
        }
        m->ops->to_leader(m->self, message, m->userdata);
        argosy__to_voter__free_unpacked(message, NULL);
}

static void give_to_host(Mesh *m, const uint8_t *payload, size_t len) {
        Argosy__ToHost *message = argosy__to_host__unpack(NULL, len, payload);

        if (!message) { // out of memory: as between two hosts, no message is lost without the link
                local_restart(m);
                return;
        }
        m->ops->to_host(message, m->userdata);
        argosy__to_host__free_unpacked(message, NULL);
}

// What was queued up to now; what the callbacks add is for the next turn.
static void deliver(Mesh *m, Buf *queue, void (*give)(Mesh *m, const uint8_t *payload, size_t len)) {
        _cleanup_buf_ Buf batch = *queue;
        uint64_t epoch = m->local_epoch;
        const uint8_t *payload;
        size_t done = 0, len;

        *queue = (Buf){};
        while (local_is_up(m) && m->local_epoch == epoch && !m->closing &&
               frame_peek(batch.data + done, batch.len - done, FRAME_MAX, &payload, &len) > 0) {
                done += FRAME_HEADER_SIZE + len;
                give(m, payload, len);
        }
}

void local_deliver(Mesh *m) {
        if (m->to_leader.len > 0)
                deliver(m, &m->to_leader, give_to_leader);
        if (m->leader != m->self) // somebody else leads in a newer term
                buf_done(&m->to_host);
        if (m->to_host.len > 0) {
                bool was_full = mesh_host_is_full(m, m->self);

                deliver(m, &m->to_host, give_to_host);
                if (was_full && !m->closing)
                        m->ops->host_drained(m->self, m->userdata);
        }
}
