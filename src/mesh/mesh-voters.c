// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The links that we dial: one to each voter of the owner's list, and, while nobody leads, to those that
// other voters name. A link that comes up, or says something new, may change who leads (mesh_reconsider()).
// What the leader sends goes to the owner, what another voter sends does not. Memory: a list is taken whole
// or not at all, a hint that does not fit is left out.
#include <errno.h>

#include "mesh-private.h"
#include "str.h"

static Link *find_link(const Mesh *m, uint32_t host) {
        list_foreach (node, &m->links)
                if (CONTAINER_OF(node, Link, node)->peer.host == host)
                        return CONTAINER_OF(node, Link, node);
        return NULL;
}

static void let_go(Mesh *m, Link *l, bool flush) {
        list_unlink(&l->node);
        if (m->leader_link == l) {
                m->leader_link = NULL;
                drain_mark(&m->drain);
        }
        link_abandon(l, flush);
}

// ---- what links say

static int add_link(Mesh *m, const MeshPeer *peer, bool hint, Link **ret);

// Somebody who is no leader, or no voter any more, names voters that we do not know. While nobody leads they
// are worth a try: the voters may have been replaced while this host was away. That they lead they say
// themselves, with their own keys.
static void take_hints(Mesh *m, Argosy__Voter *const *voters, size_t n) {
        for (size_t i = 0; i < n; i++) {
                size_t n_links = 0;
                MeshPeer peer;
                bool known = voters[i]->host == m->self.host;
                Link *l;

                list_foreach (node, &m->links) {
                        known = known || CONTAINER_OF(node, Link, node)->peer.host == voters[i]->host;
                        n_links++;
                }
                if (known || n_links >= MESH_VOTERS_MAX || !mesh_peer_from_voter(voters[i], &peer))
                        continue;
                if (add_link(m, &peer, true, &l) < 0)
                        return;
                link_dial(l);
        }
}

static void on_up(Link *l, void *userdata) {
        Mesh *m = userdata;

        l->epoch = ++m->last_epoch;
        m->links_changed = true;
        m->removal_reported = false;
        drain_mark(&m->drain);
}

// What somebody who does not lead says of the voters: where those are that we know, and which others there
// are. No link is let go for it.
static void take_word(Mesh *m, const Argosy__ToHost__Leader *f) {
        for (size_t i = 0; i < f->n_voters; i++) {
                Link *other = find_link(m, f->voters[i]->host);

                if (other)
                        link_on_announced(other, f->voters[i]);
        }
        if (m->leader == 0)
                take_hints(m, f->voters, f->n_voters);
        if (m->ops->voters_named)
                m->ops->voters_named(f->voters, f->n_voters, m->userdata);
}

static void on_announced(Link *l, const Argosy__ToHost__Leader *f, void *userdata) {
        Mesh *m = userdata;

        mesh_reconsider(m);
        if (l->abandoned)
                return;
        if (m->leader_link == l)
                m->ops->voters_announced(f->voters, f->n_voters, m->userdata);
        else
                take_word(m, f);
}

static void on_guided(Link *l, const Argosy__ToHost__Leader *f, void *userdata) {
        take_word(userdata, f);
}

static void on_message(Link *l, const Argosy__ToHost *message, void *userdata) {
        Mesh *m = userdata;

        if (m->leader_link == l)
                m->ops->to_host(message, m->userdata);
}

static void on_drained(Link *l, void *userdata) {
        Mesh *m = userdata;

        if (m->leader_link == l && m->ops->leader_drained)
                m->ops->leader_drained(m->userdata);
}

static int on_renew_request(Link *l, Buf *ret_csr, void *userdata) {
        Mesh *m = userdata;

        return m->ops->renew_request ? m->ops->renew_request(ret_csr, m->userdata) : -EOPNOTSUPP;
}

static void on_renewed(Link *l, const Argosy__ToHost__Renewed *renewed, void *userdata) {
        Mesh *m = userdata;

        m->ops->renewed(renewed, m->userdata);
}

static void on_down(Link *l, void *userdata) {
        Mesh *m = userdata;

        mesh_reconsider(m);
        if (!l->abandoned && l->refusal >= MESH_REFUSED_GUIDED)
                drain_mark(&m->drain); // it may be the one that was missing
}

static void on_failed(Link *l, const char *why, void *userdata) {
        Mesh *m = userdata;

        m->ops->link_failed(l->peer.host, why, m->userdata);
}

static void on_pending(Link *l, void *userdata) {
        Mesh *m = userdata;

        drain_mark(&m->drain);
}

static void on_closed(Link *l, void *userdata) {
        mesh_unref(userdata);
}

static const LinkOps link_ops = {.up = on_up,
                                 .announced = on_announced,
                                 .guided = on_guided,
                                 .message = on_message,
                                 .drained = on_drained,
                                 .renew_request = on_renew_request,
                                 .renewed = on_renewed,
                                 .down = on_down,
                                 .failed = on_failed,
                                 .pending = on_pending,
                                 .closed = on_closed};

static int add_link(Mesh *m, const MeshPeer *peer, bool hint, Link **ret) {
        const LinkConfig config = {.loop = m->loop,
                                   .tls = m->tls,
                                   .self = &m->self,
                                   .redial_min_ms = m->redial_min_ms,
                                   .redial_max_ms = m->redial_max_ms,
                                   .ops = &link_ops,
                                   .userdata = m};
        int r = link_new(&config, peer, ret);

        if (r < 0)
                return r;
        (*ret)->hint = hint;
        list_append(&m->links, &(*ret)->node);
        m->n_open++;
        return 0;
}

void mesh_report_pending(Mesh *m) {
        list_foreach (node, &m->links) {
                Link *l = CONTAINER_OF(node, Link, node);

                if (*l->pending_why) {
                        link_report_pending(l);
                        drain_mark(&m->drain); // the list may be another one now
                        return;
                }
        }
}

static bool is_said_to_be_removed(const Mesh *m) {
        size_t n = 0, n_refuse = 0;
        bool is_removed = false;

        for (size_t i = 0; i < m->n_voters; i++) {
                const Link *l = find_link(m, m->voters[i].host);

                if (m->voters[i].host == m->self.host)
                        continue;
                n++;
                n_refuse += l && l->refusal != MESH_NOT_REFUSED;
        }
        list_foreach (node, &m->links) { // also of voters that those which vote no more have named
                const Link *l = CONTAINER_OF(node, Link, node);

                is_removed |= l->refusal == MESH_REFUSED_REMOVED;
        }
        return is_removed && 2 * n_refuse > n;
}

bool mesh_is_doubted(const Mesh *m) {
        return m->leader == 0 && is_said_to_be_removed(m);
}

bool mesh_is_removed(const Mesh *m) {
        list_foreach (node, &m->links)
                if (CONTAINER_OF(node, Link, node)->up)
                        return false;
        return is_said_to_be_removed(m);
}

// ---- to whom

static const MeshPeer *find_peer(const MeshPeer *peers, size_t n, uint32_t host) {
        for (size_t i = 0; i < n; i++)
                if (peers[i].host == host)
                        return &peers[i];
        return NULL;
}

static void drop_unnamed(Mesh *m) {
        list_foreach_safe (node, &m->links) {
                Link *l = CONTAINER_OF(node, Link, node);

                if (!find_peer(m->voters, m->n_voters, l->peer.host))
                        let_go(m, l, true);
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
                if (voters[i].host == m->self.host || find_link(m, voters[i].host))
                        continue;
                r = add_link(m, &voters[i], false, &fresh[*ret_n]);
                *ret_n += r == 0;
        }
        for (size_t i = 0; r < 0 && i < *ret_n; i++)
                let_go(m, fresh[i], false);
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
                Link *l = find_link(m, copy[i].host);

                if (l)
                        link_set_peer(l, &copy[i]);
        }
        for (size_t i = 0; i < n_fresh; i++)
                link_dial(fresh[i]);
        mesh_announce(m);
        return 0;
}

void mesh_drop_hints(Mesh *m) {
        list_foreach_safe (node, &m->links) {
                Link *l = CONTAINER_OF(node, Link, node);

                if (l->hint && l != m->leader_link)
                        let_go(m, l, false);
        }
}

void mesh_drop_links(Mesh *m) {
        list_foreach_safe (node, &m->links)
                let_go(m, CONTAINER_OF(node, Link, node), true);
}

void mesh_set_raft_id(Mesh *m, uint32_t raft_id) {
        if (raft_id == m->self.raft_id)
                return;
        m->self.raft_id = raft_id;
        list_foreach (i, &m->links) {
                Link *l = CONTAINER_OF(i, Link, node);

                if (l != m->leader_link)
                        link_dial_anew(l);
        }
}

// ---- the network

void mesh_on_network(Mesh *m, bool (*is_ours)(const char *address, void *userdata), void *userdata) {
        list_foreach (node, &m->links)
                link_on_network(CONTAINER_OF(node, Link, node), is_ours, userdata);
}

void mesh_on_seen(Mesh *m, uint32_t host, const char *address) {
        Link *l = find_link(m, host);

        if (l)
                link_on_seen(l, address);
}

void mesh_try_addresses(Mesh *m, const MeshAddress *addresses, size_t n) {
        list_foreach (node, &m->links)
                link_on_given(CONTAINER_OF(node, Link, node), addresses, n);
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
                                .why = l->reported_why,
                                .refusal = l->refusal,
                        };
        }
        return n;
}

bool mesh_where(const Mesh *m, uint32_t host, MeshAddress *ret) {
        const Link *l = find_link(m, host);

        if (!l)
                return false;
        *ret = link_where(l);
        return *ret->text;
}
