// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which hosts may connect, and which part of the daemon gets a connection:
//
//   handshake -> daemon_listen_judge() -> accepted -> join server | log | mesh, by its protocol
//
// A stranger may only ask to join. A connection that passed the handshake and that no part wants by then is
// closed.

#include "daemon-listen.h"

#include <errno.h>

#include "cluster-state.h"
#include "daemon.h"
#include "join-server.h"
#include "log.h"
#include "mesh.h"
#include "named-voters.h"
#include "refusal-log.h"
#include "str.h"
#include "stream.h"
#include "tls-context.h"

// All hosts of a cluster may have their links to one voter, with the log's and what greets.
_Static_assert(LISTENER_STREAMS_MAX > CLUSTER_HOSTS_MAX + LISTENER_HANDSHAKES_MAX, "a link of each host");

static const Argosy__Voter *voter_of_pin(const Daemon *d, const Hash *pin) {
        for (size_t i = 0; i < d->peers->n_voters; i++) {
                const Argosy__Voter *v = d->peers->voters[i];

                if (v->key_pin.len == HASH_SIZE && memcmp(v->key_pin.data, pin->bytes, HASH_SIZE) == 0)
                        return v;
        }
        return NULL;
}

// What the state says of somebody's end is final, however old it is.
static bool has_ended(const Daemon *d, const Argosy__Voter *v, const Hash *pin) {
        return cluster_state_find_former_by_pin(d->state, pin) ||
               cluster_state_raft_id_is_retired(d->state, v->raft_id);
}

// The host that a public key belongs to, 0 if to nobody. The replicated state decides, but for voters of
// whom it knows nothing yet. Those of the peers file: before anybody leads it is as old as the last
// snapshot, and they are who can elect a leader. Those that others have named: this host may have been cut
// off while they became voters, and its log comes from them.
static uint32_t host_of_pin(Daemon *d, const Hash *pin, uint32_t *ret_raft_id) {
        bool has_state = d->state && cluster_state_cluster(d->state);
        const Argosy__HostRecord *h = has_state ? cluster_state_find_host_by_pin(d->state, pin) : NULL;
        const Argosy__Voter *v = named_voters_find_pin(d, pin);

        if (!v && !(h && h->raft_id > 0))
                v = voter_of_pin(d, pin);
        if (v && has_state && has_ended(d, v, pin))
                v = NULL;
        *ret_raft_id = v ? v->raft_id : h ? h->raft_id : 0;
        return v ? v->host : h ? h->host : 0;
}

static bool keeps_log(const Daemon *d) {
        return d->store && !d->store_closing;
}

// A removal stands in the log, so it is final, however old the state is. A key that is not known proves
// nothing: this host may not have heard of its owner yet. A host without a log knows the voters' keys alone:
// who has a certificate of its CA, and may have known it as a voter, is told who votes now.
TlsVerdict daemon_listen_judge(const Hash *pin, const char *alpn, void *userdata) {
        Daemon *d = userdata;
        uint32_t raft_id, host = host_of_pin(d, pin, &raft_id);

        if (host > 0)
                return streq(alpn, ALPN_RAFT) && raft_id == 0 ? TLS_STRANGER : TLS_MEMBER;
        if (d->state && cluster_state_find_former_by_pin(d->state, pin))
                return TLS_REMOVED;
        return !keeps_log(d) && streq(alpn, ALPN_MESH) ? TLS_GUEST : TLS_STRANGER;
}

static void on_accepted(Listener *l, Stream *s, void *userdata) {
        Daemon *d = userdata;
        const StreamPeer *peer = stream_peer(s);
        uint32_t raft_id = 0, host = 0;

        refusal_log_counts(d, false);
        if (streq(peer->alpn, ALPN_JOIN)) {
                join_server_accept(d->join_server, s);
                return;
        }
        host = host_of_pin(d, &peer->pin, &raft_id);
        if (!keeps_log(d) && streq(peer->alpn, ALPN_MESH))
                mesh_guide(d->mesh, s);
        else if (host == 0 || !keeps_log(d))
                // revoked since the handshake, or we keep no log: it finds the others
                stream_close(s, -EACCES, false);
        else if (streq(peer->alpn, ALPN_RAFT))
                store_accept(d->store, s, raft_id);
        else
                mesh_accept(d->mesh, s, host);
}

static void on_refused(Listener *l, const StreamPeer *peer, const char *why, void *userdata) {
        Daemon *d = userdata;

        heap_keeper_note(&d->heap, HEAP_CONNECTION);
        if (!refusal_log_allows(d, peer->address, why))
                return;
        if (*peer->address)
                log_info("A connection from %s was refused: %s", peer->address, why);
        else
                log_warning("No connections are accepted for a moment: %s", why);
}

static void on_listener_closed(Listener *l, void *userdata) {
        Daemon *d = userdata;

        refusal_log_counts(d, true);
        d->listener = NULL;
        d->closing--;
}

static const ListenerOps listener_ops = {
        .accepted = on_accepted, .refused = on_refused, .closed = on_listener_closed};

int daemon_listen_open(Daemon *d, char **ret_why) {
        int r = listener_new_bound(d->loop, d->port_fd, d->tls, &listener_ops, d, &d->listener);

        if (r < 0)
                *ret_why = str_printf("Cannot listen on port %u: %s", (unsigned) d->port, strerror(-r));
        else
                d->port_fd = -1;
        return r;
}
