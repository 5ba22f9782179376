// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests about roles and pools: what a change makes of the records, and what there is.
//
// A role that units are of is not removed, since nobody could say then whose they are. A pool is: it is only
// a name for nodes, and units that ask for it wait until there is one again.
#include <errno.h>

#include "array.h"
#include "batch-builder.h"
#include "clock.h"
#include "message-of.h"
#include "message.h"
#include "pending-requests.h"
#include "response.h"
#include "roles.h"
#include "scheduler-roles.h"
#include "str.h"
#include "tombstones.h"
#include "unit-file.h"

enum {
        WEIGHT_MAX = 10000,
        AMOUNTS_MAX = 8, // kinds of resources in one role, as the Placement counts them
        POOL_WORDS_MAX = 4096,
};
#define AMOUNT_MAX UINT64_C(1000000000000)

static int into_batch(PendingRequest *t) {
        return request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
}

// ------------------------------------------------------------------------------------------------ roles

// 0, CHECK_REFUSED, or a negative errno.
static int check_amounts(Leader *l, PendingRequest *t, Argosy__Amount *const *list, size_t n) {
        for (size_t i = 0; i < n; i++) {
                int r;

                if (!label_is_valid(list[i]->resource) || list[i]->amount > AMOUNT_MAX) {
                        request_refuse(t, EINVAL,
                                      "'%s' is no name of a resource, or there cannot be so much of it",
                                      list[i]->resource);
                        return CHECK_REFUSED;
                }
                r = scheduler_resource_known(l, list[i]->resource);
                if (r == -ENOSPC) {
                        request_refuse(t, ENOSPC,
                                      "there are as many kinds of resources as can be counted: not %s",
                                      list[i]->resource);
                        return CHECK_REFUSED;
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

static Argosy__Amount *amount_find(Argosy__Amount **list, size_t n, const char *resource) {
        for (size_t i = 0; i < n; i++)
                if (streq(list[i]->resource, resource))
                        return list[i];
        return NULL;
}

static void amount_drop(Argosy__Amount **list, size_t *n, Argosy__Amount *gone) {
        size_t kept = 0;

        for (size_t i = 0; i < *n; i++)
                if (list[i] != gone)
                        list[kept++] = list[i];
        *n = kept;
        message_free(gone);
}

// Puts what the change says over what there is.
static int merge(Argosy__Amount ***list, size_t *n, Argosy__Amount *const *changes, size_t n_changes) {
        for (size_t i = 0; i < n_changes; i++) {
                Argosy__Amount *known = amount_find(*list, *n, changes[i]->resource);

                if (known)
                        amount_drop(*list, n, known);
                if (changes[i]->unset)
                        continue;
                if (FIELD_APPEND(*list, *n, (Argosy__Amount *) message_copy(changes[i])) < 0)
                        return -ENOMEM;
        }
        return 0;
}

// The resource of which more is guaranteed than the limit allows; NULL: none.
static const char *contradiction(const Argosy__RoleRecord *role) {
        for (size_t i = 0; i < role->n_guarantee; i++) {
                const Argosy__Amount *limit =
                        amount_find(role->limit, role->n_limit, role->guarantee[i]->resource);

                if (limit && limit->amount < role->guarantee[i]->amount)
                        return limit->resource;
        }
        return NULL;
}

static Argosy__RoleRecord *role_copy(const Leader *l, const char *name) {
        const Argosy__RoleRecord *known = cluster_state_find_role(l->state, name);
        Argosy__RoleRecord fresh = MESSAGE_OF(role_record, .name = (char *) name, .weight = 1);

        return message_copy(known ?: &fresh);
}

static int put_role(PendingRequest *t, BatchBuilder *b, Argosy__RoleRecord *next,
                    const Argosy__Request__RoleChange *m) {
        const char *bad;
        int r;

        if (m->weight)
                next->weight = m->weight;
        r = merge(&next->guarantee, &next->n_guarantee, m->guarantee, m->n_guarantee);
        r = r < 0 ? r : merge(&next->limit, &next->n_limit, m->limit, m->n_limit);
        if (r < 0)
                return r;
        bad = contradiction(next);
        if (bad)
                return request_refuse(t, EINVAL, "more %s would be guaranteed to the role than its limit",
                                     bad);
        if (next->n_guarantee > AMOUNTS_MAX || next->n_limit > AMOUNTS_MAX)
                return request_refuse(t, E2BIG, "%s: more kinds of resources than can be counted", m->name);
        r = batch_builder_put_role(b, next);
        return r < 0 ? r : into_batch(t);
}

static int set_role(Leader *l, PendingRequest *t, BatchBuilder *b, const Argosy__Request__RoleChange *m) {
        Argosy__RoleRecord *next;
        int r;

        if (m->weight > WEIGHT_MAX)
                return request_refuse(t, EINVAL, "%s: a weight is 1 to 10000", m->name);
        r = check_amounts(l, t, m->guarantee, m->n_guarantee);
        if (r == 0)
                r = check_amounts(l, t, m->limit, m->n_limit);
        if (r != 0)
                return r < 0 ? r : 0;
        next = role_copy(l, m->name);
        if (!next)
                return -ENOMEM;
        r = put_role(t, b, next, m);
        message_free(next);
        return r;
}

static int remove_role(Leader *l, PendingRequest *t, BatchBuilder *b, const char *name) {
        size_t n = streq(name, ROLE_DEFAULT) ? 0 : scheduler_role_units(l, name); // that one is always there
        int r;

        if (!cluster_state_find_role(l->state, name))
                return request_refuse(t, ENOENT, "there is no role '%s'", name);
        if (n > 0) {
                request_refuse(t, EEXIST, "%zu unit%s of role %s: it stays", n, n == 1 ? " is" : "s are",
                              name);
                return 0;
        }
        if (batch_builder_uses_role(b, name))
                return -EBUSY;
        r = batch_builder_remove_role(b, name);
        return r < 0 ? r : into_batch(t);
}

int roles_plan_role(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__RoleChange *m = t->request->role_change;

        if (!label_is_valid(m->name))
                return request_refuse(t, EINVAL,
                                     "'%s' is no name of a role: 1 to 63 letters, digits and ._/-", m->name);
        if (batch_builder_has_role(b, m->name))
                return -EBUSY;
        return m->remove ? remove_role(l, t, b, m->name) : set_role(l, t, b, m);
}

// ------------------------------------------------------------------------------------------------ pools

// 0, CHECK_REFUSED, or a negative errno.
static int check_members(Leader *l, PendingRequest *t, const Argosy__Request__PoolChange *m) {
        if (m->n_hosts + m->n_labels == 0 || m->n_hosts + m->n_labels > POOL_WORDS_MAX) {
                request_refuse(t, EINVAL, "%s: a pool is made of 1 to 4096 nodes and labels", m->name);
                return CHECK_REFUSED;
        }
        for (size_t i = 0; i < m->n_labels; i++)
                if (!label_is_valid(m->labels[i]->key) || !label_is_valid(m->labels[i]->value)) {
                        request_settle(t, response_no_label(m->labels[i]));
                        return CHECK_REFUSED;
                }
        for (size_t i = 0; i < m->n_hosts; i++)
                if (!cluster_state_resolve_host(l->state, m->hosts[i], NULL)) {
                        request_refuse(t, ENOENT, "there is no node '%s', or several are meant",
                                       m->hosts[i]);
                        return CHECK_REFUSED;
                }
        return 0;
}

int roles_put_pool(Leader *l, BatchBuilder *b, const char *name, Argosy__PoolRecord *next) {
        int r = next ? batch_builder_put_pool(b, next) : batch_builder_remove_pool(b, name);

        return r < 0 ? r : tombstones_chunk_with_pool(l, b, name, next);
}

// Hosts as they are called, whatever word named them.
static int put_pool(Leader *l, BatchBuilder *b, const Argosy__Request__PoolChange *m) {
        _cleanup_free_ char **hosts = calloc(m->n_hosts + 1, sizeof *hosts);

        if (!hosts)
                return -ENOMEM;
        for (size_t i = 0; i < m->n_hosts; i++)
                hosts[i] = cluster_state_resolve_host(l->state, m->hosts[i], NULL)->name;
        Argosy__PoolRecord pool =
                MESSAGE_OF(pool_record, .name = m->name, .hosts = hosts, .n_hosts = m->n_hosts,
                           .labels = m->labels, .n_labels = m->n_labels);
        return roles_put_pool(l, b, m->name, &pool);
}

int roles_plan_pool(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__PoolChange *m = t->request->pool_change;
        const Argosy__PoolRecord *known = cluster_state_find_pool(l->state, m->name);
        int r;

        if (!label_is_valid(m->name))
                return request_refuse(t, EINVAL,
                                     "'%s' is no name of a pool: 1 to 63 letters, digits and ._/-", m->name);
        if (batch_builder_has_pool(b, m->name))
                return -EBUSY;
        if (m->remove) {
                if (!known)
                        return request_refuse(t, ENOENT, "there is no pool '%s'", m->name);
                r = roles_put_pool(l, b, m->name, NULL);
                return r < 0 ? r : into_batch(t);
        }
        r = check_members(l, t, m);
        if (r != 0)
                return 0;
        r = put_pool(l, b, m);
        return r < 0 ? r : into_batch(t);
}

// --------------------------------------------------------------------------------------------- as they were

static int check_resources_back(Leader *l, Argosy__Amount *const *list, size_t n, char *why, size_t size) {
        for (size_t i = 0; i < n; i++) {
                int r = scheduler_resource_known(l, list[i]->resource);

                if (r == -ENOSPC)
                        str_fit(why, size, "there are as many kinds of resources as can be counted");
                else if (r < 0)
                        return r;
        }
        return 0;
}

int roles_check_role_back(Leader *l, const char *name, const Argosy__RoleRecord *record, char *why,
                          size_t size) {
        size_t n_units;
        int r;

        if (!record) {
                n_units = streq(name, ROLE_DEFAULT) ? 0 : scheduler_role_units(l, name);
                if (n_units > 0)
                        str_fit(why, size, "%zu unit%s of it", n_units, n_units == 1 ? " is" : "s are");
                return 0;
        }
        r = check_resources_back(l, record->guarantee, record->n_guarantee, why, size);
        return r < 0 ? r : check_resources_back(l, record->limit, record->n_limit, why, size);
}

// ------------------------------------------------------------------------------------------------ answers

static bool is_asked(char *const *names, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq(names[i], name))
                        return true;
        return n == 0;
}

static int add_role(Leader *l, Argosy__Response__Roles *roles, const char *name,
                    const Argosy__RoleRecord *record) {
        Argosy__Response__RoleRow *row = calloc(1, sizeof *row);

        if (!row)
                return -ENOMEM;
        argosy__response__role_row__init(row);
        if (FIELD_APPEND(roles->rows, roles->n_rows, row) < 0 || field_set(&row->name, name) < 0)
                return -ENOMEM;
        return scheduler_fill_role(l, record, row);
}

// ROLE_DEFAULT first, since it is always there.
Argosy__Response *roles_answer_roles(Leader *l, const Argosy__Request *request) {
        const Argosy__Request__RoleList *m = request->role_list;
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_ROLES);
        size_t n;
        Argosy__RoleRecord *const *records = cluster_state_roles(l->state, &n);

        if (!r)
                return NULL;
        for (size_t i = 0; i < m->n_names; i++)
                if (!streq(m->names[i], ROLE_DEFAULT) && !cluster_state_find_role(l->state, m->names[i]))
                        return response_error(ENOENT, "there is no role '%s'", m->names[i]);
        if (is_asked(m->names, m->n_names, ROLE_DEFAULT) &&
            add_role(l, r->roles, ROLE_DEFAULT, cluster_state_find_role(l->state, ROLE_DEFAULT)) < 0)
                return NULL;
        for (size_t i = 0; i < n; i++)
                if (!streq(records[i]->name, ROLE_DEFAULT) &&
                    is_asked(m->names, m->n_names, records[i]->name) &&
                    add_role(l, r->roles, records[i]->name, records[i]) < 0)
                        return NULL;
        return TAKE_PTR(r);
}

static int add_string(char ***list, size_t *n, const char *value) {
        char *copy = strdup(value);

        if (!copy || ARRAY_RESERVE(*list, *n + 1) < 0) {
                free(copy);
                return -ENOMEM;
        }
        (*list)[(*n)++] = copy;
        return 0;
}

static int add_pool(Leader *l, Argosy__Response__Pools *pools, const Argosy__PoolRecord *pool) {
        Argosy__Response__PoolRow *row = calloc(1, sizeof *row);
        const HostEntry *hosts;
        size_t n;
        int r;

        if (!row)
                return -ENOMEM;
        argosy__response__pool_row__init(row);
        r = FIELD_APPEND(pools->rows, pools->n_rows, row);
        r = r < 0 ? r : field_set(&row->name, pool->name);
        for (size_t i = 0; i < pool->n_hosts && r >= 0; i++)
                r = add_string(&row->hosts, &row->n_hosts, pool->hosts[i]);
        for (size_t i = 0; i < pool->n_labels && r >= 0; i++)
                r = FIELD_APPEND(row->labels, row->n_labels,
                                 label_new(pool->labels[i]->key, pool->labels[i]->value));
        hosts = cluster_state_hosts(l->state, &n);
        for (size_t i = 0; i < n && r >= 0; i++)
                if (pool_has_host(pool, hosts[i].record))
                        r = add_string(&row->nodes, &row->n_nodes, hosts[i].record->name);
        return r;
}

Argosy__Response *roles_answer_pools(Leader *l, const Argosy__Request *request) {
        const Argosy__Request__PoolList *m = request->pool_list;
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_POOLS);
        size_t n;
        Argosy__PoolRecord *const *records = cluster_state_pools(l->state, &n);

        if (!r)
                return NULL;
        for (size_t i = 0; i < m->n_names; i++)
                if (!cluster_state_find_pool(l->state, m->names[i]))
                        return response_error(ENOENT, "there is no pool '%s'", m->names[i]);
        for (size_t i = 0; i < n; i++)
                if (is_asked(m->names, m->n_names, records[i]->name) &&
                    add_pool(l, r->pools, records[i]) < 0)
                        return NULL;
        return TAKE_PTR(r);
}
