// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Leaders of a rig that are not like the one before: with another LeaseSec=, or of a cluster that was
// recovered, whose log has lost entries that nobody knows of. Nobody leads when these are called.
#include "leader-rig-private.h"

#include "batch.h"
#include "leader-private.h"
#include "macro.h"
#include "test.h"

// As argosyd has it (daemon-log.c), but for the date, so that numbers stay short, and for numbers of jobs,
// which go on: who looks knows jobs by them.
enum { REVISIONS_LOST = 1 << 20, RAFT_IDS_LOST = 100 };

void rig_set_lease(Rig *g, unsigned lease_ms) {
        g->leader->config.lease_ms = lease_ms;
}

static void put_floors(Rig *g, Argosy__ClusterRecord *next) {
        *next = *cluster_state_cluster(g->state);
        next->generation++;
        next->revision_floor = cluster_state_revision(g->state) + REVISIONS_LOST;
        next->raft_id_floor = (cluster_state_next_raft_id(g->state) / RAFT_IDS_LOST + 2) * RAFT_IDS_LOST;
}

// Who had a log besides the leader's host is a spare.
static void put_spares(Rig *g, Batch *b) {
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(g->state, &n);

        for (size_t i = 0; i < n; i++) {
                Argosy__HostRecord *record = hosts[i].record;

                if (record->host == 1 ||
                    (record->role != ARGOSY__HOST_ROLE__ROLE_VOTER && record->raft_id == 0))
                        continue;
                record = BATCH_NEW(b, Argosy__HostRecord, argosy__host_record__init);
                *record = *hosts[i].record;
                record->role = ARGOSY__HOST_ROLE__ROLE_SPARE;
                record->raft_id = 0;
                batch_op(b, ARGOSY__LOG_OP__OP_HOST)->host = record;
                rig_host(g, hosts[i].record->host)->opened = 0;
        }
}

void rig_elect_recovered(Rig *g) {
        _cleanup_(batch_done) Batch b = {};
        Argosy__ClusterRecord next;
        uint32_t own = cluster_state_find_host(g->state, 1)->raft_id;

        g->recovers = true;
        store_memory_lead(g->store, true);
        while (!g->led)
                uv_run(&g->loop, UV_RUN_NOWAIT);
        put_floors(g, &next);
        batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = &next;
        put_spares(g, &b);
        rig_propose(g, &b);
        g->n_members = 0;
        g->members[g->n_members++] = (StoreMember){.raft_id = own, .voter = true};
        g->recovers = false;
        (void) leader_set_leading(g->leader, true, g->term);
        rig_settle(g);
}
