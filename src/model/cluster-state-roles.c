// SPDX-License-Identifier: LGPL-2.1-or-later

// Roles and pools in ClusterState (cluster-state-named.c), and which hosts are in a pool: those that it
// names, by name or machine id, and those with one of its labels.
//
// Happy path: a log entry puts a record, and readers find it by name or take all of them. Failures: none.

#include <strings.h>

#include "cluster-state-private.h"
#include "str.h"

Argosy__RoleRecord *const *cluster_state_roles(const ClusterState *s, size_t *ret_n) {
        *ret_n = s->n_roles;
        return s->roles;
}

const Argosy__RoleRecord *cluster_state_find_role(const ClusterState *s, const char *name) {
        return named_find(s->roles, s->n_roles, name);
}

uint64_t cluster_state_roles_revision(const ClusterState *s) {
        return s->roles_revision;
}

Argosy__PoolRecord *const *cluster_state_pools(const ClusterState *s, size_t *ret_n) {
        *ret_n = s->n_pools;
        return s->pools;
}

const Argosy__PoolRecord *cluster_state_find_pool(const ClusterState *s, const char *name) {
        return named_find(s->pools, s->n_pools, name);
}

bool pool_has_host(const Argosy__PoolRecord *pool, const Argosy__HostRecord *host) {
        for (size_t i = 0; i < pool->n_hosts; i++)
                if (strcasecmp(pool->hosts[i], host->name) == 0 ||
                    strcasecmp(pool->hosts[i], host->machine_id) == 0)
                        return true;
        for (size_t i = 0; i < pool->n_labels; i++)
                for (size_t k = 0; k < host->n_labels; k++)
                        if (streq(pool->labels[i]->key, host->labels[k]->key) &&
                            streq(pool->labels[i]->value, host->labels[k]->value))
                                return true;
        return false;
}
