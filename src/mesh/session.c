// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A host that dialled us: Hello in -> judged -> Leader out, host_link() up -> messages -> host_link() down.
// Until Hello it gets MESH_HELLO_MS and MESH_HELLO_MAX bytes.
#include <errno.h>

#include "decide.h"
#include "frame.h"
#include "mesh-internal.h"

enum { MESH_HELLO_MAX = 4096 };

Session *session_find(const Mesh *m, uint32_t host) {
        list_foreach (node, &m->sessions) {
                Session *s = CONTAINER_OF(node, Session, node);

                if (s->host == host && s->announced && !s->dropped)
                        return s;
        }
        return NULL;
}

int session_send(Session *s, const ProtobufCMessage *message) {
        return stream_send(s->stream, message);
}

void session_drop(Session *s, int error, bool flush) {
        if (s->dropped)
                return;
        s->dropped = true;
        stream_close(s->stream, error, flush);
}

static void announce_down(Session *s) {
        bool was = s->announced;

        s->announced = false;
        if (was && !s->mesh->closing)
                s->mesh->ops->host_link(s->host, NULL, s->mesh->userdata);
}

// ---- refusing

static void forget_refusal(Mesh *m, uint32_t host) {
        for (size_t i = 0; i < ELEMENTSOF(m->refused); i++)
                if (m->refused[i].host == host)
                        m->refused[i].host = 0;
}

static void report_refusal(Mesh *m, uint32_t host, const char *why) {
        for (size_t i = 0; i < ELEMENTSOF(m->refused); i++)
                if (m->refused[i].host == host && m->refused[i].why == why)
                        return;
        forget_refusal(m, host);
        m->refused[m->n_refused % ELEMENTSOF(m->refused)].host = host;
        m->refused[m->n_refused++ % ELEMENTSOF(m->refused)].why = why;
        m->ops->link_failed(host, why, m->userdata);
}

static void refuse(Session *s, const char *why) {
        Argosy__ToHost__Leader leader = ARGOSY__TO_HOST__LEADER__INIT;
        Argosy__ToHost message = ARGOSY__TO_HOST__INIT;

        leader.host = s->mesh->self;
        leader.refusal = (char *) why;
        message.msg_case = ARGOSY__TO_HOST__MSG_LEADER;
        message.leader = &leader;
        (void) session_send(s, &message.base);
        session_drop(s, -EACCES, true);
        report_refusal(s->mesh, s->host, why);
}

// ---- frames

// The host has dialled anew, so its older sessions are dead, whether the kernel knows it or not.
static void end_older(Session *s) {
        list_foreach_safe (node, &s->mesh->sessions) {
                Session *older = CONTAINER_OF(node, Session, node);

                if (older == s || older->host != s->host || !older->announced)
                        continue;
                session_drop(older, 0, false);
                announce_down(older);
                return; // only one is announced at a time
        }
}

static int on_hello(Session *s, const Argosy__ToVoter__Hello *hello) {
        Mesh *m = s->mesh;
        Announcement a;
        const char *why;
        int r;

        why = decide_hello(hello, s->host, m->cluster_id, m->generation);
        if (why) {
                refuse(s, why);
                return 0;
        }
        forget_refusal(m, s->host);
        end_older(s);
        if (s->dropped || m->closing)
                return 0;
        r = mesh_announcement(m, &a);
        if (r == 0)
                r = session_send(s, &a.message.base);
        announcement_done(&a);
        if (r < 0)
                return r;
        finder_on_heard(m, s->host, stream_peer(s->stream)->address);
        stream_set_deadline(s->stream, 0);
        stream_set_frames(s->stream, FRAME_MAX);
        s->announced = true;
        m->ops->host_link(s->host, hello, m->userdata);
        return 0;
}

static int on_message(Session *s, const Argosy__ToVoter *message) {
        Mesh *m = s->mesh;
        bool is_hello = message->msg_case == ARGOSY__TO_VOTER__MSG_HELLO;

        if (!s->announced)
                return is_hello ? on_hello(s, message->hello) : -EPROTO;
        if (is_hello)
                return -EPROTO;
        if (m->leading && message->msg_case != ARGOSY__TO_VOTER__MSG__NOT_SET)
                m->ops->to_leader(s->host, message, m->userdata);
        return 0;
}

static int on_frame(Stream *stream, const uint8_t *payload, size_t len, void *userdata) {
        Session *s = userdata;
        Argosy__ToVoter *message;
        int r;

        if (s->dropped || s->mesh->closing)
                return 0;
        message = (Argosy__ToVoter *) frame_unpack(&argosy__to_voter__descriptor, payload, len);
        if (!message)
                return -EBADMSG;
        r = on_message(s, message);
        argosy__to_voter__free_unpacked(message, NULL);
        return r;
}

static void on_drained(Stream *stream, void *userdata) {
        Session *s = userdata;

        if (s->announced && !s->dropped && !s->mesh->closing)
                s->mesh->ops->host_drained(s->host, s->mesh->userdata);
}

static void on_closed(Stream *stream, int error, void *userdata) {
        Session *s = userdata;
        Mesh *m = s->mesh;

        list_unlink(&s->node);
        s->dropped = true;
        announce_down(s);
        free(s);
        mesh_unref(m);
}

static const StreamOps session_ops = {.frame = on_frame, .drained = on_drained, .closed = on_closed};

void mesh_accept(Mesh *m, Stream *stream, uint32_t host) {
        Session *s = m->closing ? NULL : calloc(1, sizeof(*s));

        if (!s) {
                stream_close(stream, -ENOMEM, false);
                return;
        }
        *s = (Session){.mesh = m, .stream = stream, .host = host};
        list_append(&m->sessions, &s->node);
        m->n_open++;
        stream_set_owner(stream, &session_ops, s);
        stream_set_frames(stream, MESH_HELLO_MAX);
        stream_set_deadline(stream, MESH_HELLO_MS);
}

void mesh_drop_host(Mesh *m, uint32_t host) {
        if (host == m->self)
                local_restart(m);
        list_foreach_safe (node, &m->sessions) {
                Session *s = CONTAINER_OF(node, Session, node);

                if (s->host == host)
                        session_drop(s, 0, true);
        }
}

void mesh_recheck(Mesh *m, bool (*is_member)(uint32_t host, const Hash *pin, void *userdata),
                  void *userdata) {
        list_foreach_safe (node, &m->sessions) {
                Session *s = CONTAINER_OF(node, Session, node);

                if (!s->dropped && !is_member(s->host, &stream_peer(s->stream)->pin, userdata))
                        session_drop(s, -EACCES, false);
        }
}
