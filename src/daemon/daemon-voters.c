// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Voters as the leader names them, to the mesh and the peers file:
//
//      announced, without a log of our own -> taken at once
//      announced, with one                 -> kept, since that log knows better -> taken when it is gone
//
// A host that ceases to vote hears of its successors while its log is still being closed, and nobody says it
// again. Without what was said then it would dial former voters, and name these to hosts that are looking
// for the cluster. A list that no member would send is left out whole; one that there is no memory for is
// taken when the leader says the next.
#include "daemon-voters.h"

#include <stdlib.h>

#include "cluster-state.h"
#include "daemon-log.h"
#include "daemon.h"
#include "macro.h"
#include "mesh.h"
#include "message.h"
#include "named-voters.h"

static void take(Daemon *d, Argosy__Voter *const *voters, size_t n) {
        _cleanup_free_ MeshPeer *peers = calloc(n, sizeof(*peers));

        if (!peers)
                return;
        for (size_t i = 0; i < n; i++)
                if (!mesh_peer_from_voter(voters[i], &peers[i]))
                        return;
        daemon_update_peers(d, voters, n, 0);
        (void) mesh_set_voters(d->mesh, peers, n);
}

static void keep(Daemon *d, Argosy__Voter *const *voters, size_t n) {
        Argosy__ToHost__Leader said = ARGOSY__TO_HOST__LEADER__INIT;

        said.voters = (Argosy__Voter **) voters;
        said.n_voters = n;
        message_free(d->voters_said);
        d->voters_said = message_copy(&said);
}

void daemon_voters_on_announced(Daemon *d, Argosy__Voter *const *voters, size_t n) {
        if (n == 0)
                return;
        named_voters_add(d, voters, n);
        if (d->state && cluster_state_cluster(d->state))
                keep(d, voters, n);
        else
                take(d, voters, n);
}

void daemon_voters_on_log_gone(Daemon *d) {
        Argosy__ToHost__Leader *said = TAKE_PTR(d->voters_said);

        named_voters_forget(d);
        if (said)
                take(d, said->voters, said->n_voters);
        message_free(said);
}
