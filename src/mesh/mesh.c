// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who leads, and what follows from it. Whatever links, sessions or the owner change ends in
// mesh_reconsider(), which compares what it finds with what leader_changed() said last. Changes by API calls
// are marked and looked at in the next turn of the loop, those that come from peers at once: behind a Leader
// frame the leader's first messages may already be waiting.
#include <errno.h>

#include "decide.h"
#include "feature-level.h"
#include "mesh-internal.h"

void mesh_fill_hello(Mesh *m, Argosy__ToVoter__Hello *ret) {
        ret->host = m->self;
        ret->cluster_id = (ProtobufCBinaryData){sizeof(m->cluster_id), m->cluster_id};
        ret->generation = m->generation;
        ret->version = (char *) ARGOSY_VERSION;
        ret->feature_level = m->feature_level;
        ret->boot_id = (ProtobufCBinaryData){sizeof(m->boot_id), m->boot_id};
        ret->raft_id = m->raft_id;
}

// ---- what we say

int mesh_announcement(const Mesh *m, Announcement *ret) {
        *ret = (Announcement){.message = ARGOSY__TO_HOST__INIT, .leader = ARGOSY__TO_HOST__LEADER__INIT};
        ret->voters = calloc(m->n_voters + 1, sizeof(*ret->voters));
        ret->pointers = calloc(m->n_voters + 1, sizeof(*ret->pointers));
        if (!ret->voters || !ret->pointers)
                return -ENOMEM;
        for (size_t i = 0; i < m->n_voters; i++) {
                MeshPeer *p = &m->voters[i];

                argosy__voter__init(&ret->voters[i]);
                ret->voters[i].host = p->host;
                ret->voters[i].address = p->address;
                ret->voters[i].name = p->name;
                ret->voters[i].host_name = p->host_name;
                ret->voters[i].port = p->port;
                ret->voters[i].key_pin = (ProtobufCBinaryData){HASH_SIZE, p->pin.bytes};
                ret->voters[i].raft_id = p->raft_id;
                ret->pointers[i] = &ret->voters[i];
        }
        ret->leader.host = m->self;
        ret->leader.leading = m->leading;
        ret->leader.term = m->term;
        ret->leader.leader = m->leading ? m->self : m->leader_host;
        ret->leader.voters = ret->pointers;
        ret->leader.n_voters = m->n_voters;
        ret->leader.version = (char *) ARGOSY_VERSION;
        ret->leader.feature_level = m->feature_level;
        ret->message.msg_case = ARGOSY__TO_HOST__MSG_LEADER;
        ret->message.leader = &ret->leader;
        return 0;
}

void announcement_done(Announcement *a) {
        free(a->voters);
        free(a->pointers);
}

// To everybody who dialled us. Who cannot be told is cut: he would go on with what is no longer true.
static void announce(Mesh *m) {
        Announcement a;
        int made = mesh_announcement(m, &a);

        list_foreach_safe (node, &m->sessions) {
                Session *s = CONTAINER_OF(node, Session, node);

                if (!s->announced || s->dropped)
                        continue;
                if (made < 0 || session_send(s, &a.message.base) < 0)
                        session_drop(s, -ENOBUFS, false);
        }
        announcement_done(&a);
}

// ---- who leads

typedef struct Choice {
        uint32_t host;
        uint64_t term, epoch;
        Link *link;
} Choice;

static Choice choose(Mesh *m) {
        LeaderClaim claims[MESH_VOTERS_MAX + 1] = {{m->self, local_is_up(m), m->term}};
        Link *links[MESH_VOTERS_MAX + 1] = {};
        const LeaderClaim *best;
        size_t n = 1, i;

        list_foreach (node, &m->links) {
                Link *l = CONTAINER_OF(node, Link, node);

                if (!l->up || n >= ELEMENTSOF(claims))
                        continue;
                links[n] = l;
                claims[n++] = (LeaderClaim){l->peer.host, l->leading, l->term};
        }
        best = decide_leader(claims, n, &m->newest_term);
        if (!best)
                return (Choice){};
        i = (size_t) (best - claims);
        return (Choice){best->host, best->term, links[i] ? links[i]->epoch : m->local_epoch, links[i]};
}

// With a leader found, voters that others named are not needed any more. The leader's own link stays until
// the owner's list knows it.
static void drop_hints(Mesh *m) {
        list_foreach_safe (node, &m->links) {
                Link *l = CONTAINER_OF(node, Link, node);

                if (l->hint && l != m->leader_link)
                        link_abandon(l, false);
        }
}

void mesh_reconsider(Mesh *m) {
        Choice c = choose(m);

        m->leader_link = c.link;
        if (c.host == m->leader && c.term == m->leader_term && c.epoch == m->leader_epoch)
                return;
        m->leader = c.host;
        m->leader_term = c.term;
        m->leader_epoch = c.epoch;
        if (c.host != 0)
                drop_hints(m);
        m->ops->leader_changed(c.host, c.term, m->userdata);
}

// ---- what the owner changes

static void report_pending(Mesh *m) {
        list_foreach (node, &m->links) {
                Link *l = CONTAINER_OF(node, Link, node);

                if (*l->pending_why) {
                        link_report_pending(l);
                        drain_mark(&m->drain); // the list may be another one now
                        return;
                }
        }
}

static void on_drain(void *userdata) {
        Mesh *m = userdata;

        local_update(m);
        if (!m->closing)
                mesh_reconsider(m);
        if (!m->closing)
                local_deliver(m);
        if (!m->closing)
                report_pending(m);
        if (!m->closing && m->links_changed) {
                m->links_changed = false;
                if (m->ops->links_changed)
                        m->ops->links_changed(m->userdata);
        }
}

void mesh_set_leading(Mesh *m, bool leading, uint64_t term, uint32_t leader_host) {
        bool same_leadership = m->leading == leading && m->term == term;

        if (m->closing || (same_leadership && m->leader_host == leader_host))
                return;
        if (!same_leadership)
                m->local_epoch = ++m->last_epoch;
        m->leading = leading;
        m->term = term;
        m->leader_host = leader_host;
        announce(m);
        drain_mark(&m->drain);
}

static const MeshPeer *find_peer(const MeshPeer *peers, size_t n, uint32_t host) {
        for (size_t i = 0; i < n; i++)
                if (peers[i].host == host)
                        return &peers[i];
        return NULL;
}

Link *link_find(const Mesh *m, uint32_t host) {
        list_foreach (node, &m->links)
                if (CONTAINER_OF(node, Link, node)->peer.host == host)
                        return CONTAINER_OF(node, Link, node);
        return NULL;
}

static void drop_unnamed(Mesh *m) {
        list_foreach_safe (node, &m->links) {
                Link *l = CONTAINER_OF(node, Link, node);

                if (!find_peer(m->voters, m->n_voters, l->peer.host))
                        link_abandon(l, true);
        }
}

static bool same_voters(const Mesh *m, const MeshPeer *voters, size_t n) {
        for (size_t i = 0; n == m->n_voters && i < n; i++) {
                const MeshPeer *a = &m->voters[i], *b = &voters[i];

                if (a->host != b->host || !streq(a->address, b->address) || !streq(a->name, b->name) ||
                    !streq(a->host_name, b->host_name) || a->port != b->port ||
                    !hash_equal(&a->pin, &b->pin) || a->raft_id != b->raft_id)
                        return false;
        }
        return n == m->n_voters;
}

// New links for those that have none, all or none.
static int add_links(Mesh *m, const MeshPeer *voters, size_t n, Link **fresh, size_t *ret_n) {
        int r = 0;

        *ret_n = 0;
        for (size_t i = 0; r == 0 && i < n; i++) {
                if (voters[i].host == m->self || link_find(m, voters[i].host))
                        continue;
                r = link_new(m, &voters[i], false, &fresh[*ret_n]);
                *ret_n += r == 0;
        }
        for (size_t i = 0; r < 0 && i < *ret_n; i++)
                link_abandon(fresh[i], false);
        return r;
}

int mesh_set_voters(Mesh *m, const MeshPeer *voters, size_t n) {
        Link *fresh[MESH_VOTERS_MAX];
        MeshPeer *copy;
        size_t n_fresh;
        int r;

        if (m->closing)
                return 0;
        if (n > MESH_VOTERS_MAX)
                return -E2BIG;
        if (same_voters(m, voters, n)) {
                drop_unnamed(m); // hints
                return 0;
        }
        copy = calloc(n + 1, sizeof(*copy));
        if (!copy)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                copy[i] = voters[i];
        r = add_links(m, voters, n, fresh, &n_fresh);
        if (r < 0) {
                free(copy);
                return r;
        }
        free(m->voters);
        m->voters = copy;
        m->n_voters = n;
        drop_unnamed(m);
        for (size_t i = 0; i < n; i++) {
                Link *l = link_find(m, copy[i].host);

                if (l)
                        link_set_peer(l, &copy[i]);
        }
        for (size_t i = 0; i < n_fresh; i++)
                link_dial(fresh[i]);
        announce(m);
        return 0;
}

void mesh_set_raft_id(Mesh *m, uint32_t raft_id) {
        if (raft_id == m->raft_id)
                return;
        m->raft_id = raft_id;
        list_foreach (i, &m->links) {
                Link *l = CONTAINER_OF(i, Link, node);

                if (l != m->leader_link)
                        link_dial_anew(l);
        }
}

void mesh_set_generation(Mesh *m, uint64_t generation) {
        if (generation <= m->generation)
                return;
        m->generation = generation;
        m->newest_term = 0; // a new history
        drain_mark(&m->drain);
}

// ---- the network

void mesh_on_network(Mesh *m, bool (*is_ours)(const char *address, void *userdata), void *userdata) {
        list_foreach (node, &m->links)
                link_on_network(CONTAINER_OF(node, Link, node), is_ours, userdata);
}

size_t mesh_local_addresses(const Mesh *m, char (*ret)[STREAM_ADDRESS_SIZE], size_t max) {
        size_t n = 0;

        if (m->leader_link && m->leader_link->up && n < max)
                n += stream_local_address(m->leader_link->stream, ret[n]);
        list_foreach (node, &m->links) {
                const Link *l = CONTAINER_OF(node, Link, node);

                if (l->up && l != m->leader_link && n < max)
                        n += stream_local_address(l->stream, ret[n]);
        }
        return n;
}

size_t mesh_links(const Mesh *m, MeshLinkInfo *ret, size_t max) {
        size_t n = 0;

        list_foreach (node, &m->links) {
                const Link *l = CONTAINER_OF(node, Link, node);

                if (n < max)
                        ret[n++] = (MeshLinkInfo){
                                .host = l->peer.host,
                                .peer = &l->peer,
                                .up = l->up,
                                .address = l->up ? stream_peer(l->stream)->address : "",
                                .why = l->told_why,
                        };
        }
        return n;
}

bool mesh_where(const Mesh *m, uint32_t host, MeshAddress *ret) {
        const Link *l = link_find(m, host);

        if (!l)
                return false;
        *ret = link_where(l);
        return *ret->text;
}

// ---- messages

uint32_t mesh_leader(const Mesh *m) {
        return m->leader;
}

uint32_t mesh_leader_level(const Mesh *m) {
        if (m->leader_link)
                return m->leader_link->feature_level;
        return m->leader == m->self ? m->feature_level : FEATURE_BASE;
}

int mesh_to_leader(Mesh *m, const Argosy__ToVoter *message) {
        if (m->closing || m->leader == 0)
                return -ENOTCONN;
        if (m->leader == m->self)
                return local_send(m, &m->to_leader, &message->base);
        return m->leader_link && m->leader_link->up ? stream_send(m->leader_link->stream, &message->base)
                                                    : -ENOTCONN;
}

int mesh_to_host(Mesh *m, uint32_t host, const Argosy__ToHost *message) {
        Session *s;

        if (m->closing)
                return -ENOTCONN;
        if (host == m->self)
                return local_send(m, &m->to_host, &message->base);
        s = session_find(m, host);
        return s ? session_send(s, &message->base) : -ENOTCONN;
}

bool mesh_host_is_full(const Mesh *m, uint32_t host) {
        const Session *s = host == m->self ? NULL : session_find(m, host);

        return (s ? stream_queued(s->stream) : host == m->self ? m->to_host.len : 0) > STREAM_LOW_WATER;
}

// ---- beginning and end

int mesh_new(const MeshConfig *config, const MeshOps *ops, void *userdata, Mesh **ret) {
        Mesh *m = calloc(1, sizeof(*m));

        if (!m)
                return -ENOMEM;
        *m = (Mesh){
                .loop = config->loop,
                .ops = ops,
                .userdata = userdata,
                .tls = config->tls,
                .self = config->self,
                .generation = config->generation,
                .feature_level = config->feature_level ?: FEATURE_LEVEL,
                .redial_min_ms = config->redial_min_ms ?: MESH_REDIAL_MIN_MS,
                .redial_max_ms = config->redial_max_ms ?: MESH_REDIAL_MAX_MS,
                .n_open = 1,
        };
        memcpy(m->cluster_id, config->cluster_id, sizeof(m->cluster_id));
        memcpy(m->boot_id, config->boot_id, sizeof(m->boot_id));
        list_init(&m->links);
        list_init(&m->sessions);
        (void) drain_init(&m->drain, m->loop, on_drain, m); // an idle handle: cannot fail
        *ret = m;
        return 0;
}

void mesh_unref(Mesh *m) {
        void (*closed)(void *userdata) = m->closed;
        void *closed_data = m->closed_data;

        if (--m->n_open > 0)
                return;
        buf_done(&m->to_leader);
        buf_done(&m->to_host);
        free(m->voters);
        free(m);
        if (closed)
                closed(closed_data);
}

static void on_drain_closed(uv_handle_t *handle) {
        mesh_unref(CONTAINER_OF((uv_idle_t *) handle, Mesh, drain.idle));
}

void mesh_close(Mesh *m, void (*closed)(void *userdata), void *userdata) {
        if (m->closing)
                return;
        m->closing = true;
        m->closed = closed;
        m->closed_data = userdata;
        list_foreach_safe (node, &m->links)
                link_abandon(CONTAINER_OF(node, Link, node), true);
        list_foreach_safe (node, &m->sessions)
                session_drop(CONTAINER_OF(node, Session, node), 0, true);
        drain_close(&m->drain, on_drain_closed);
}
