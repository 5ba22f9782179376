// SPDX-License-Identifier: LGPL-2.1-or-later

// Roles and pools in ClusterState: two small arrays sorted by name, that change rarely and are searched by
// halving.
//
//      state_put_role(), state_remove_role() on a log entry -> cluster_state_find_role() by readers
//
// The state owns the records; one that is replaced is retired, as a snapshot may still read it.
// Failures: -ENOMEM from put, after which the record is still the caller's.

#include <errno.h>
#include <strings.h>

#include "array.h"
#include "cluster-state-private.h"
#include "str.h"

// The common beginning of RoleRecord and PoolRecord.
typedef struct NamedRecord {
        ProtobufCMessage base;
        char *name;
} NamedRecord;

static_assert(offsetof(Argosy__RoleRecord, name) == offsetof(NamedRecord, name));
static_assert(offsetof(Argosy__PoolRecord, name) == offsetof(NamedRecord, name));

// Index of the record, or where it would go.
static size_t find(NamedRecord *const *records, size_t n, const char *name, bool *ret_found) {
        size_t low = 0, high = n;

        *ret_found = false;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int r = strcmp(records[middle]->name, name);

                if (r == 0) {
                        *ret_found = true;
                        return middle;
                }
                if (r < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static int put(ClusterState *s, NamedRecord ***records, size_t *n, NamedRecord *record) {
        bool found;
        size_t i = find(*records, *n, record->name, &found);

        if (found)
                state_retire_message(s, (*records)[i]);
        else {
                if (ARRAY_RESERVE(*records, *n + 1) < 0)
                        return -ENOMEM;
                memmove(&(*records)[i + 1], &(*records)[i], ((*n)++ - i) * sizeof **records);
        }
        (*records)[i] = record;
        return 0;
}

static bool drop(ClusterState *s, NamedRecord **records, size_t *n, const char *name) {
        bool found;
        size_t i = find(records, *n, name, &found);

        if (!found)
                return false;
        state_retire_message(s, records[i]);
        memmove(&records[i], &records[i + 1], (--*n - i) * sizeof *records);
        return true;
}

static const void *get(NamedRecord *const *records, size_t n, const char *name) {
        bool found;
        size_t i = find(records, n, name, &found);

        return found ? records[i] : NULL;
}

// ------------------------------------------------------------------------------------------------ roles

int state_put_role(ClusterState *s, Argosy__RoleRecord *record) {
        return put(s, (NamedRecord ***) &s->roles, &s->n_roles, (NamedRecord *) record);
}

bool state_remove_role(ClusterState *s, const char *name) {
        return drop(s, (NamedRecord **) s->roles, &s->n_roles, name);
}

Argosy__RoleRecord *const *cluster_state_roles(const ClusterState *s, size_t *ret_n) {
        *ret_n = s->n_roles;
        return s->roles;
}

const Argosy__RoleRecord *cluster_state_find_role(const ClusterState *s, const char *name) {
        return get((NamedRecord *const *) s->roles, s->n_roles, name);
}

uint64_t cluster_state_roles_revision(const ClusterState *s) {
        return s->roles_revision;
}

// ------------------------------------------------------------------------------------------------ pools

int state_put_pool(ClusterState *s, Argosy__PoolRecord *record) {
        return put(s, (NamedRecord ***) &s->pools, &s->n_pools, (NamedRecord *) record);
}

bool state_remove_pool(ClusterState *s, const char *name) {
        return drop(s, (NamedRecord **) s->pools, &s->n_pools, name);
}

Argosy__PoolRecord *const *cluster_state_pools(const ClusterState *s, size_t *ret_n) {
        *ret_n = s->n_pools;
        return s->pools;
}

const Argosy__PoolRecord *cluster_state_find_pool(const ClusterState *s, const char *name) {
        return get((NamedRecord *const *) s->pools, s->n_pools, name);
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

// ------------------------------------------------------------------------------------------------ both

void state_roles_done(ClusterState *s) {
        for (size_t i = 0; i < s->n_roles; i++)
                state_retire_message(s, s->roles[i]);
        for (size_t i = 0; i < s->n_pools; i++)
                state_retire_message(s, s->pools[i]);
        free(s->roles);
        free(s->pools);
}
