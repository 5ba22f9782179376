// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The current leader, and what follows from it. Whatever links, sessions or the owner change ends in
// mesh_reconsider(), which compares what it finds with what leader_changed() said last. Changes by API calls
// are marked and looked at in the next turn of the loop, those that come from peers at once: behind a Leader
// frame the leader's first messages may already be waiting.
#include <errno.h>

#include "decide.h"
#include "feature-level.h"
#include "mesh-private.h"

// ---- who leads

typedef struct Choice {
        uint32_t host;
        uint64_t term, epoch;
        Link *link;
} Choice;

static Choice choose(Mesh *m) {
        LeaderClaim claims[MESH_VOTERS_MAX + 1] = {{m->self.host, local_is_up(&m->local), m->term}};
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
        return (Choice){best->host, best->term, links[i] ? links[i]->epoch : m->local.epoch, links[i]};
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
                mesh_drop_hints(m);
        m->ops->leader_changed(c.host, c.term, m->userdata);
}

// ---- what the owner changes

static void on_drain(void *userdata) {
        Mesh *m = userdata;

        local_update(&m->local);
        if (!m->closing)
                mesh_reconsider(m);
        if (!m->closing)
                local_deliver(&m->local, m->leader == m->self.host);
        if (!m->closing)
                mesh_report_pending(m);
        if (!m->closing && mesh_is_doubted(m))
                mesh_drop_sessions(m);
        if (!m->closing && !m->removal_reported && mesh_is_removed(m)) {
                m->removal_reported = true;
                if (m->ops->removed)
                        m->ops->removed(m->userdata);
        }
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
                local_set_leading(&m->local, leading);
        m->leading = leading;
        m->term = term;
        m->leader_host = leader_host;
        mesh_announce(m);
        drain_mark(&m->drain);
}

void mesh_set_generation(Mesh *m, uint64_t generation) {
        if (generation <= m->self.generation)
                return;
        m->self.generation = generation;
        m->newest_term = 0; // a new history
        drain_mark(&m->drain);
}

// ---- our own agent and our own leader

static void on_local_link(bool up, void *userdata) {
        Argosy__ToVoter__Hello hello = ARGOSY__TO_VOTER__HELLO__INIT;
        Mesh *m = userdata;

        mesh_self_hello(&m->self, &hello);
        m->ops->host_link(m->self.host, up ? &hello : NULL, m->userdata);
}

static void on_local_to_leader(Argosy__ToVoter *message, void *userdata) {
        Mesh *m = userdata;

        m->ops->to_leader(m->self.host, message, m->userdata);
}

static void on_local_to_host(const Argosy__ToHost *message, void *userdata) {
        Mesh *m = userdata;

        m->ops->to_host(message, m->userdata);
}

static void on_local_drained(void *userdata) {
        Mesh *m = userdata;

        if (!m->closing)
                m->ops->host_drained(m->self.host, m->userdata);
}

static const LocalOps local_ops = {.link = on_local_link,
                                   .to_leader = on_local_to_leader,
                                   .to_host = on_local_to_host,
                                   .drained = on_local_drained};

// ---- messages

uint32_t mesh_leader(const Mesh *m) {
        return m->leader;
}

int mesh_to_leader(Mesh *m, const Argosy__ToVoter *message) {
        if (m->closing || m->leader == 0)
                return -ENOTCONN;
        if (m->leader == m->self.host)
                return local_send_to_leader(&m->local, message);
        return m->leader_link ? link_send(m->leader_link, &message->base) : -ENOTCONN;
}

int mesh_to_leader_frame(Mesh *m, Buf *frame) {
        return m->closing || !m->leader_link ? -ENOTCONN : link_send_frame(m->leader_link, frame);
}

bool mesh_leader_is_full(const Mesh *m) {
        return m->leader_link && m->leader_link->up &&
               stream_queued(m->leader_link->stream) > STREAM_LOW_WATER;
}

int mesh_to_host(Mesh *m, uint32_t host, const Argosy__ToHost *message) {
        Session *s;

        if (m->closing)
                return -ENOTCONN;
        if (host == m->self.host)
                return local_send_to_host(&m->local, message);
        s = mesh_find_session(m, host);
        return s ? session_send(s, &message->base) : -ENOTCONN;
}

MeshStats mesh_stats(const Mesh *m) {
        MeshStats stats = {};

        list_foreach (i, &m->links) {
                const Link *l = CONTAINER_OF(i, Link, node);

                stats.mesh_links += l->up;
                stats.mesh_queued_bytes += l->stream ? stream_queued(l->stream) : 0;
        }
        list_foreach (i, &m->sessions) {
                const Session *s = CONTAINER_OF(i, Session, node);

                stats.mesh_sessions += s->announced;
                stats.mesh_queued_bytes += stream_queued(s->stream);
        }
        return stats;
}

bool mesh_host_is_full(const Mesh *m, uint32_t host) {
        const Session *s;

        if (host == m->self.host)
                return local_is_full(&m->local);
        s = mesh_find_session(m, host);
        return s && stream_queued(s->stream) > STREAM_LOW_WATER;
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
                .self = {.host = config->self,
                         .generation = config->generation,
                         .feature_level = config->feature_level ?: FEATURE_LEVEL},
                .redial_min_ms = config->redial_min_ms ?: MESH_REDIAL_MIN_MS,
                .redial_max_ms = config->redial_max_ms ?: MESH_REDIAL_MAX_MS,
                .n_open = 1,
        };
        memcpy(m->self.cluster_id, config->cluster_id, sizeof(m->self.cluster_id));
        memcpy(m->self.boot_id, config->boot_id, sizeof(m->self.boot_id));
        list_init(&m->links);
        list_init(&m->sessions);
        local_init(&m->local, &m->drain, &local_ops, m);
        (void) drain_init(&m->drain, m->loop, on_drain, m); // an idle handle: cannot fail
        *ret = m;
        return 0;
}

void mesh_unref(Mesh *m) {
        void (*closed)(void *userdata) = m->closed;
        void *closed_data = m->closed_data;

        if (--m->n_open > 0)
                return;
        local_done(&m->local);
        map_done(&m->announced);
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
        local_set_leading(&m->local, false);
        mesh_drop_links(m);
        mesh_drop_sessions(m);
        drain_close(&m->drain, on_drain_closed);
}
