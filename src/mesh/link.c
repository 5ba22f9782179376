// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A link to one voter: dial -> Hello out -> Leader in (up) -> messages -> lost -> wait -> dial, for as long
// as the voter is named. The delay grows with failures in a row and starts again once a link was up: a voter
// that accepts and closes is as bad as one that does not answer. Where it is when it is not where the log
// says is finder.c's business.
#include <errno.h>
#include <stdio.h>

#include "decide.h"
#include "feature-level.h"
#include "frame.h"
#include "mesh-internal.h"
#include "str.h"
#include "tls-context.h"

static void report(Link *l, const char *why) {
        if (l->abandoned || l->mesh->closing || strncmp(l->told_why, why, sizeof(l->told_why) - 1) == 0)
                return;
        str_fit(l->told_why, sizeof(l->told_why), "%s", why);
        l->mesh->ops->link_failed(l->peer.host, why, l->mesh->userdata);
}

static void on_timer_closed(uv_handle_t *handle) {
        Link *l = handle->data;
        Mesh *m = l->mesh;

        free(l);
        mesh_unref(m);
}

// An abandoned link goes when its streams have gone.
void link_finish(Link *l) {
        if (!l->stream && !l->probe && !uv_is_closing((uv_handle_t *) &l->timer))
                uv_close((uv_handle_t *) &l->timer, on_timer_closed);
}

static void on_timer(uv_timer_t *timer) {
        link_dial(timer->data);
}

static void dial_later(Link *l) {
        const Mesh *m = l->mesh;
        unsigned delay_ms = 0;
        uint32_t random = 0;

        if (!l->dial_now) {
                (void) uv_random(NULL, NULL, &random, sizeof(random), 0, NULL); // without it: no jitter
                delay_ms = decide_redial_ms(l->failures++, m->redial_min_ms, m->redial_max_ms, random);
        }
        l->dial_now = false;
        uv_timer_start(&l->timer, on_timer, delay_ms, 0);
}

static void on_opened(Stream *s, void *userdata) {
        Argosy__ToVoter__Hello hello = ARGOSY__TO_VOTER__HELLO__INIT;
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;
        Link *l = userdata;

        mesh_fill_hello(l->mesh, &hello);
        message.msg_case = ARGOSY__TO_VOTER__MSG_HELLO;
        message.hello = &hello;
        stream_set_deadline(s, MESH_HELLO_MS);
        if (stream_send(s, &message.base) == -ENOMEM)
                stream_close(s, -ENOMEM, false);
}

// Somebody who is no leader names voters that we do not know. While nobody leads they are worth a try: the
// voters may have been replaced while this host was away.
static void take_hints(Mesh *m, Argosy__Voter *const *voters, size_t n) {
        for (size_t i = 0; i < n; i++) {
                size_t n_links = 0;
                MeshPeer peer;
                bool known = voters[i]->host == m->self;
                Link *l;

                list_foreach (node, &m->links) {
                        known = known || CONTAINER_OF(node, Link, node)->peer.host == voters[i]->host;
                        n_links++;
                }
                if (known || n_links >= MESH_VOTERS_MAX || !mesh_peer_from_voter(voters[i], &peer))
                        continue;
                if (link_new(m, &peer, true, &l) < 0)
                        return;
                link_dial(l);
        }
}

static int on_leader_frame(Link *l, const Argosy__ToHost__Leader *f) {
        Mesh *m = l->mesh;

        if (*f->refusal || f->host != l->peer.host) {
                report(l, *f->refusal ? f->refusal : "another host answers there");
                stream_close(l->stream, 0, false);
                return 0;
        }
        if (!l->up) {
                l->up = true;
                uv_timer_stop(&l->timer);
                l->epoch = ++m->last_epoch;
                l->failures = 0;
                *l->told_why = 0;
                stream_set_deadline(l->stream, 0);
                m->links_changed = true;
                drain_mark(&m->drain);
        }
        l->leading = f->leading;
        l->term = f->term;
        l->feature_level = MAX_OF(f->feature_level, (uint32_t) FEATURE_BASE);
        mesh_reconsider(m);
        if (l->abandoned || m->closing)
                return 0;
        if (m->leader_link == l) {
                m->ops->voters_told(f->voters, f->n_voters, m->userdata);
                return 0;
        }
        for (size_t i = 0; i < f->n_voters; i++)
                finder_on_told(m, f->voters[i]);
        if (m->leader == 0)
                take_hints(m, f->voters, f->n_voters);
        return 0;
}

static int on_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        Link *l = userdata;
        Mesh *m = l->mesh;
        Argosy__ToHost *message;
        int r = 0;

        if (l->abandoned || m->closing)
                return 0;
        message = (Argosy__ToHost *) frame_unpack(&argosy__to_host__descriptor, payload, len);
        if (!message)
                return -EBADMSG;
        if (message->msg_case == ARGOSY__TO_HOST__MSG_LEADER)
                r = on_leader_frame(l, message->leader);
        else if (!l->up)
                r = -EPROTO;
        else if (m->leader_link == l && message->msg_case != ARGOSY__TO_HOST__MSG__NOT_SET)
                m->ops->to_host(message, m->userdata);
        argosy__to_host__free_unpacked(message, NULL);
        return r;
}

// Nobody who could be it answers there.
static void on_not_there(Link *l) {
        l->found = (MeshAddress){};
        finder_look(l);
}

static void on_closed(Stream *s, int error, void *userdata) {
        Link *l = userdata;
        Mesh *m = l->mesh;

        bool was_up = l->up;

        l->stream = NULL;
        l->up = l->leading = false;
        if (l->abandoned) {
                link_finish(l);
                return;
        }
        if (error < 0)
                report(l, *stream_error_text(s) ? stream_error_text(s) : strerror(-error));
        if (error < 0 && !was_up)
                on_not_there(l);
        if (!l->abandoned && !l->stream)
                dial_later(l);
        if (!m->closing)
                mesh_reconsider(m);
}

static const StreamOps link_ops = {.opened = on_opened, .frame = on_frame, .closed = on_closed};

// An address that nobody has any more does not answer for seconds.
static void on_slow(uv_timer_t *timer) {
        Link *l = timer->data;

        if (l->stream && !l->up)
                finder_look(l);
}

static MeshAddress where_to_dial(const Link *l) {
        return *l->found.text ? l->found : elsewhere_first(&l->peer);
}

MeshAddress link_where(const Link *l) {
        MeshAddress at = where_to_dial(l);

        if (l->up) {
                snprintf(at.text, sizeof(at.text), "%s", stream_peer(l->stream)->address);
                at.port = stream_peer(l->stream)->port;
        }
        return at;
}

void link_dial(Link *l) {
        MeshAddress at = where_to_dial(l);
        int r = -EDESTADDRREQ;

        if (*at.text)
                r = stream_dial(l->mesh->loop, at.text, at.port, l->mesh->tls, ALPN_MESH, &l->peer.pin,
                                &link_ops, l, &l->stream);
        if (r == 0) {
                stream_set_frames(l->stream, FRAME_MAX);
                uv_timer_start(&l->timer, on_slow, FINDER_PATIENCE_MS, 0);
                return;
        }
        l->stream = NULL;
        // Told from the loop: we may be inside mesh_set_voters().
        if (*at.text)
                snprintf(l->pending_why, sizeof(l->pending_why), "cannot dial %.60s: %s", at.text,
                         strerror(-r));
        else
                snprintf(l->pending_why, sizeof(l->pending_why), "its address is not known");
        drain_mark(&l->mesh->drain);
        on_not_there(l);
        dial_later(l);
}

void link_report_pending(Link *l) {
        char why[sizeof(l->pending_why)];

        memcpy(why, l->pending_why, sizeof(why));
        *l->pending_why = 0;
        report(l, why);
}

int link_new(Mesh *m, const MeshPeer *peer, bool hint, Link **ret) {
        Link *l = calloc(1, sizeof(*l));

        if (!l)
                return -ENOMEM;
        *l = (Link){.mesh = m, .peer = *peer, .hint = hint};
        list_append(&m->links, &l->node);
        (void) uv_timer_init(m->loop, &l->timer); // cannot fail
        l->timer.data = l;
        m->n_open++;
        *ret = l;
        return 0;
}

void link_dial_anew(Link *l) {
        l->failures = 0;
        l->dial_now = true;
        if (l->stream)
                stream_close(l->stream, 0, false);
        else
                dial_later(l);
}

static bool is_connected_to(const Link *l, const MeshPeer *peer) {
        return l->up && !*peer->name && streq(stream_peer(l->stream)->address, peer->address) &&
               stream_peer(l->stream)->port == peer->port;
}

void link_set_peer(Link *l, const MeshPeer *peer) {
        MeshAddress before = elsewhere_first(&l->peer), now = elsewhere_first(peer);
        bool same = streq(before.text, now.text) && before.port == now.port,
             anew = !hash_equal(&l->peer.pin, &peer->pin) || (!same && !is_connected_to(l, peer));

        l->hint = false;
        l->peer = *peer;
        if (!same)
                l->found = (MeshAddress){};
        if (anew)
                link_dial_anew(l);
}

void link_on_network(Link *l, bool (*is_ours)(const char *address, void *userdata), void *userdata) {
        char local[STREAM_ADDRESS_SIZE];

        if (!l->up || (stream_local_address(l->stream, local) && !is_ours(local, userdata)))
                link_dial_anew(l);
}

void link_abandon(Link *l, bool flush) {
        Mesh *m = l->mesh;

        l->abandoned = true;
        l->up = l->leading = false;
        list_unlink(&l->node);
        uv_timer_stop(&l->timer);
        if (m->leader_link == l) {
                m->leader_link = NULL;
                drain_mark(&m->drain);
        }
        if (l->stream)
                stream_close(l->stream, 0, flush);
        if (l->probe)
                stream_close(l->probe, 0, false);
        link_finish(l);
}
