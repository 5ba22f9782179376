// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A host that dialled us: Hello in -> judged and opened by the owner -> messages -> closed. Until Hello it
// gets MESH_HELLO_MS and MESH_HELLO_MAX bytes. A frame that makes no sense, a Hello that comes late or
// twice: the stream ends.
#include "session.h"

#include <errno.h>

#include "frame.h"
#include "mesh.h"
#include "mesh-self.h"

enum { MESH_HELLO_MAX = 4096 };

int session_send(Session *s, const ProtobufCMessage *message) {
        return stream_send(s->stream, message);
}

void session_drop(Session *s, int error, bool flush) {
        if (s->dropped)
                return;
        s->dropped = true;
        stream_close(s->stream, error, flush);
}

void session_open(Session *s) {
        stream_set_deadline(s->stream, 0);
        stream_set_messages(s->stream, &argosy__to_voter__descriptor, FRAME_MAX);
        stream_set_cost_max(s->stream, MESH_MESSAGE_COST_MAX);
        s->announced = true;
}

void session_renew(Session *s) {
        s->renews = true;
}

static int on_message(Stream *stream, ProtobufCMessage *base, void *userdata) {
        Argosy__ToVoter *message = (Argosy__ToVoter *) base;
        bool is_hello = message->msg_case == ARGOSY__TO_VOTER__MSG_HELLO;
        Session *s = userdata;

        if (s->dropped)
                return 0;
        if (s->renews)
                return message->msg_case == ARGOSY__TO_VOTER__MSG_RENEW
                               ? s->ops->renew(s, message->renew, s->userdata)
                               : -EPROTO;
        if (is_hello == s->announced)
                return -EPROTO;
        if (is_hello)
                return s->ops->hello(s, message->hello, s->userdata);
        if (message->msg_case != ARGOSY__TO_VOTER__MSG__NOT_SET)
                s->ops->message(s, message, s->userdata);
        return 0;
}

static void on_drained(Stream *stream, void *userdata) {
        Session *s = userdata;

        if (s->announced && !s->dropped)
                s->ops->drained(s, s->userdata);
}

static void on_closed(Stream *stream, int error, void *userdata) {
        Session *s = userdata;

        s->dropped = true;
        s->ops->closed(s, s->userdata);
        free(s);
}

static const StreamOps session_ops = {.message = on_message, .drained = on_drained, .closed = on_closed};

int session_new(Stream *stream, uint32_t host, const SessionOps *ops, void *userdata, Session **ret) {
        Session *s = calloc(1, sizeof(*s));

        if (!s) {
                stream_close(stream, -ENOMEM, false);
                return -ENOMEM;
        }
        *s = (Session){.stream = stream, .host = host, .ops = ops, .userdata = userdata};
        stream_set_owner(stream, &session_ops, s);
        stream_set_messages(stream, &argosy__to_voter__descriptor, MESH_HELLO_MAX);
        stream_set_deadline(stream, MESH_HELLO_MS);
        *ret = s;
        return 0;
}
