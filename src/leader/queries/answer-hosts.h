// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What lists say of hosts and their nodes. The leader may be not leading (stale answers).

#include "leader-core.h"

// The leader, as far as this host knows; NULL: none.
const Argosy__HostRecord *answer_find_leader(Leader *l, const StoreStats *stats);
// Adds the row of a node: 0 or -ENOMEM. `leader`: the host that leads, 0: nobody.
int answer_add_node(Leader *l, Argosy__Response__Nodes *nodes, const Argosy__HostRecord *host,
                    const Argosy__NodeRecord *node, uint32_t leader);
// What `cluster status` says of one host, and of the cluster. 0 or -ENOMEM.
int answer_add_member(Leader *l, Argosy__Response__ClusterStatus *status, const Argosy__HostRecord *host,
                      const StoreStats *stats, uint32_t leader);
int answer_fill_cluster_status(Leader *l, Argosy__Response__ClusterStatus *status, const StoreStats *stats);
