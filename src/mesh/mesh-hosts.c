// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hosts that dialled us: Hello -> judged -> Leader out, host_link() up -> messages, to the owner while we
// lead -> host_link() down. One session of a host is announced at a time: the newest wins. A refused host
// is told why, once in a row; a link that cannot take news of the leader is cut.
#include <errno.h>

#include "decide.h"
#include "mesh-private.h"
#include "message-of.h"

Session *mesh_find_session(const Mesh *m, uint32_t host) {
        Session *s = map_find(&m->announced, &host, sizeof(host));

        return s && !s->dropped ? s : NULL;
}

static void announce_down(Mesh *m, Session *s) {
        if (!s->announced)
                return;
        s->announced = false;
        map_take(&m->announced, &s->host, sizeof(s->host));
        if (!m->closing)
                m->ops->host_link(s->host, NULL, m->userdata);
}

// ---- what we say

typedef struct Announcement {
        Argosy__ToHost message;
        Argosy__ToHost__Leader leader;
        Argosy__Voter *voters, **pointers;
} Announcement;

static int make_announcement(const Mesh *m, Announcement *ret) {
        *ret = (Announcement){.message = ARGOSY__TO_HOST__INIT, .leader = ARGOSY__TO_HOST__LEADER__INIT};
        ret->voters = calloc(m->n_voters + 1, sizeof(*ret->voters));
        ret->pointers = calloc(m->n_voters + 1, sizeof(*ret->pointers));
        if (!ret->voters || !ret->pointers)
                return -ENOMEM;
        for (size_t i = 0; i < m->n_voters; i++) {
                MeshPeer *p = &m->voters[i];

                ret->voters[i] = (Argosy__Voter) MESSAGE_OF(
                        voter, .host = p->host, .address = p->address, .name = p->name,
                        .host_name = p->host_name, .port = p->port,
                        .key_pin = (ProtobufCBinaryData){HASH_SIZE, p->pin.bytes}, .raft_id = p->raft_id);
                ret->pointers[i] = &ret->voters[i];
        }
        ret->leader.host = m->self.host;
        ret->leader.leading = m->leading;
        ret->leader.term = m->term;
        ret->leader.leader = m->leading ? m->self.host : m->leader_host;
        ret->leader.voters = ret->pointers;
        ret->leader.n_voters = m->n_voters;
        ret->leader.version = (char *) ARGOSY_VERSION;
        ret->leader.feature_level = m->self.feature_level;
        ret->message.msg_case = ARGOSY__TO_HOST__MSG_LEADER;
        ret->message.leader = &ret->leader;
        return 0;
}

static void announcement_done(Announcement *a) {
        free(a->voters);
        free(a->pointers);
}

void mesh_announce(Mesh *m) {
        Announcement a;
        int made = make_announcement(m, &a);

        list_foreach_safe (node, &m->sessions) {
                Session *s = CONTAINER_OF(node, Session, node);

                if (!s->announced || s->dropped)
                        continue;
                if (made < 0 || session_send(s, &a.message.base) < 0)
                        session_drop(s, -ENOBUFS, false);
        }
        announcement_done(&a);
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

static void refuse(Mesh *m, Session *s, const char *why) {
        Argosy__ToHost__Leader leader = ARGOSY__TO_HOST__LEADER__INIT;
        Argosy__ToHost message = TO_HOST_OF(LEADER, leader, &leader);

        leader.host = m->self.host;
        leader.refusal = (char *) why;
        (void) session_send(s, &message.base);
        session_drop(s, -EACCES, true);
        report_refusal(m, s->host, why);
}

// It knows us by our key, and we know it by its own, so it may have a certificate.
static void ask_to_renew(Mesh *m, Session *s) {
        static const char why[] = "its certificate is of a CA that this cluster does not have: it may only "
                                  "ask for another one";
        Argosy__ToHost__Leader leader = ARGOSY__TO_HOST__LEADER__INIT;
        Argosy__ToHost message = TO_HOST_OF(LEADER, leader, &leader);

        leader.host = m->self.host;
        leader.refusal = (char *) why;
        leader.renew = true;
        session_renew(s);
        if (session_send(s, &message.base) < 0)
                session_drop(s, -ENOBUFS, false);
        report_refusal(m, s->host, why);
}

static int on_renew(Session *s, const Argosy__ToVoter__Renew *renew, void *userdata) {
        Argosy__ToHost__Renewed renewed = ARGOSY__TO_HOST__RENEWED__INIT;
        Argosy__ToHost message = TO_HOST_OF(RENEWED, renewed, &renewed);
        _cleanup_buf_ Buf cert = {}, ca_cert = {};
        Mesh *m = userdata;
        int r = m->ops->sign ? m->ops->sign(s->host, renew, &cert, &ca_cert, m->userdata) : -EOPNOTSUPP;

        if (r < 0)
                return r;
        renewed.cert = (ProtobufCBinaryData){cert.len, cert.data};
        renewed.ca_cert = (ProtobufCBinaryData){ca_cert.len, ca_cert.data};
        r = session_send(s, &message.base);
        session_drop(s, 0, true);
        return r < 0 ? r : 0;
}

// ---- what sessions say

// The host has dialled anew, so its older sessions are dead, whether the kernel knows it or not.
static void end_older(Mesh *m, Session *s) {
        // only one is announced at a time
        Session *older = map_find(&m->announced, &s->host, sizeof(s->host));

        if (!older)
                return;
        session_drop(older, 0, false);
        announce_down(m, older);
}

// The host's key is not known, so it is sent nothing but the voters' addresses.
static int guide(Mesh *m, Session *s) {
        Announcement a;
        int r = make_announcement(m, &a);

        if (r == 0) {
                a.leader.leading = false;
                a.leader.guide = true;
                a.leader.refusal = (char *) "it is no voter any more";
                r = session_send(s, &a.message.base);
        }
        announcement_done(&a);
        if (r < 0)
                return r;
        session_drop(s, 0, true);
        return 0;
}

static int on_hello(Session *s, const Argosy__ToVoter__Hello *hello, void *userdata) {
        Mesh *m = userdata;
        Announcement a;
        const char *why = decide_hello(hello, s->is_guided ? hello->host : s->host, m->self.cluster_id,
                                       m->self.generation);
        int r;

        if (s->is_guided && !why)
                return guide(m, s);
        if (why) {
                refuse(m, s, why);
                return 0;
        }
        if (stream_peer(s->stream)->cert_outdated) {
                ask_to_renew(m, s);
                return 0;
        }
        if (mesh_is_doubted(m)) {
                session_drop(s, 0, true);
                return 0;
        }
        forget_refusal(m, s->host);
        end_older(m, s);
        if (s->dropped)
                return 0;
        r = make_announcement(m, &a);
        if (r == 0)
                r = session_send(s, &a.message.base);
        announcement_done(&a);
        if (r >= 0)
                r = map_add(&m->announced, &s->host, sizeof(s->host), s);
        if (r < 0)
                return r;
        mesh_on_seen(m, s->host, stream_peer(s->stream)->address);
        session_open(s);
        m->ops->host_link(s->host, hello, m->userdata);
        return 0;
}

static void on_message(Session *s, Argosy__ToVoter *message, void *userdata) {
        Mesh *m = userdata;

        if (m->leading)
                m->ops->to_leader(s->host, message, m->userdata);
}

static void on_drained(Session *s, void *userdata) {
        Mesh *m = userdata;

        m->ops->host_drained(s->host, m->userdata);
}

static void on_closed(Session *s, void *userdata) {
        Mesh *m = userdata;

        list_unlink(&s->node);
        announce_down(m, s);
        mesh_unref(m);
}

static const SessionOps session_ops = {.hello = on_hello,
                                       .message = on_message,
                                       .renew = on_renew,
                                       .drained = on_drained,
                                       .closed = on_closed};

// ---- sessions

static Session *accept_session(Mesh *m, Stream *stream, uint32_t host) {
        Session *s;

        if (m->closing) {
                stream_close(stream, 0, false);
                return NULL;
        }
        if (session_new(stream, host, &session_ops, m, &s) < 0)
                return NULL;
        list_append(&m->sessions, &s->node);
        m->n_open++;
        return s;
}

void mesh_accept(Mesh *m, Stream *stream, uint32_t host) {
        (void) accept_session(m, stream, host);
}

void mesh_guide(Mesh *m, Stream *stream) {
        Session *s = accept_session(m, stream, 0);

        if (s)
                s->is_guided = true;
}

void mesh_drop_host(Mesh *m, uint32_t host) {
        if (host == m->self.host)
                local_restart(&m->local);
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

void mesh_drop_sessions(Mesh *m) {
        list_foreach_safe (node, &m->sessions)
                session_drop(CONTAINER_OF(node, Session, node), 0, true);
}
