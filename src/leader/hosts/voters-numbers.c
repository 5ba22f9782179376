// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Numbers of logs that are to be opened. A host may have made a log by one although nobody heard of it, so a
// number is in the log as given before a host is asked by it:
//
//      none for this host -> the record of the cluster has the next one as given -> the host is asked by it
//
// The leader remembers for whom it was; one that is asked again by the same leader is asked by the same
// number. The next leader does not know it and gives another one. A number that is behind one that another
// host has got is nobody's any more. What entries may have given that a recovery has lost counts as given
// (daemon-log.c).
#include "voters-numbers.h"

#include "tables.h"

uint32_t voters_number_of(const Leader *l, const Host *h) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        const HostMembership *m = &h->membership;

        return m->number_term == l->term && cluster && m->number <= cluster->raft_id_floor &&
                               !cluster_state_raft_id_is_retired(l->state, m->number)
                       ? m->number
                       : 0;
}

int voters_number_put(Leader *l, BatchBuilder *b, Host *h) {
        Argosy__ClusterRecord cluster = *cluster_state_cluster(l->state);
        uint32_t number = cluster_state_next_raft_id(l->state);
        int r;

        cluster.raft_id_floor = number;
        r = batch_builder_put_cluster(b, &cluster);
        if (r < 0)
                return r; // in the next entry
        h->membership.number = number;
        h->membership.number_term = l->term;
        return 0;
}
