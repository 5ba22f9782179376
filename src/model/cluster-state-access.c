// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Grants: one small table that changes rarely, in the order of grant_compare(). A change moves what is
// behind it.
//
// A new cluster has none of it in the log: as long as nobody has changed anything, access_of_new_cluster()
// counts. The first change takes that over and then does what it is to do, so nothing has to be written when
// a cluster begins, or when all voters can read such records.

#include <errno.h>
#include <string.h>

#include "array.h"
#include "author.h"
#include "cluster-state-private.h"
#include "message.h"
#include "sorted.h"
#include "unit-options.h"

AccessList cluster_state_access(const ClusterState *s) {
        AccessList list = access_of_new_cluster();

        if (s->access_set) {
                list.grants = s->grants;
                list.n = s->n_grants;
        }
        list.tokens = s->access_tokens;
        list.n_tokens = s->n_access_tokens;
        list.now = (AccessTime){.wall_us = s->time_us, .counted_us = s->counted_us};
        return list;
}

uint64_t cluster_state_access_revision(const ClusterState *s) {
        return s->access_revision;
}

uint64_t cluster_state_grants_revision(const ClusterState *s) {
        return s->grants_revision;
}

// Index of the record, or where it would go.
static size_t find(AccessList list, const Argosy__GrantRecord *grant, bool *ret_found) {
        size_t at = SORTED_COUNT(list.n, i, grant_compare(list.grants[i], grant) < 0);

        *ret_found = at < list.n && grant_compare(list.grants[at], grant) == 0;
        return at;
}

// What the tables rely on, and nothing that a later version may see otherwise.
static bool fits(const ClusterState *s, const Argosy__GrantRecord *g) {
        return (!*g->user != !*g->group) && strlen(g->user) <= AUTHOR_NAME_MAX &&
               strlen(g->group) <= AUTHOR_NAME_MAX && strlen(g->role) <= LABEL_MAX &&
               (g->host == 0 || cluster_state_find_host(s, g->host));
}

static int insert(ClusterState *s, size_t i, const Argosy__GrantRecord *grant) {
        Argosy__GrantRecord *copy = message_copy(grant);

        if (!copy || ARRAY_RESERVE(s->grants, s->n_grants + 1) < 0) {
                message_free(copy);
                return -ENOMEM;
        }
        memmove(&s->grants[i + 1], &s->grants[i], (s->n_grants++ - i) * sizeof *s->grants);
        s->grants[i] = copy;
        return 0;
}

static int take_over(ClusterState *s) {
        AccessList list = access_of_new_cluster();
        int r = 0;

        if (s->access_set)
                return 0;
        s->access_set = true;
        for (size_t i = 0; r == 0 && i < list.n; i++)
                r = insert(s, i, list.grants[i]);
        return r;
}

bool state_has_grant(const ClusterState *s, const Argosy__GrantRecord *grant) {
        bool found;

        (void) find(cluster_state_access(s), grant, &found);
        return found;
}

int state_put_grant(ClusterState *s, const Argosy__GrantRecord *grant, bool *ret_changed) {
        bool found;
        size_t i = find(cluster_state_access(s), grant, &found);

        if (found)
                return 0;
        *ret_changed = true;
        if (take_over(s) < 0)
                return -ENOMEM;
        return insert(s, i, grant);
}

int state_remove_grant(ClusterState *s, const Argosy__GrantRecord *grant, bool *ret_changed) {
        bool found;
        size_t i = find(cluster_state_access(s), grant, &found);

        if (!found)
                return 0;
        *ret_changed = true;
        if (take_over(s) < 0)
                return -ENOMEM;
        state_retire_message(s, s->grants[i]);
        memmove(&s->grants[i], &s->grants[i + 1], (--s->n_grants - i) * sizeof *s->grants);
        return 0;
}

bool state_drop_grants_of(ClusterState *s, uint32_t host) {
        size_t kept = 0, before = s->n_grants;

        for (size_t i = 0; i < before; i++)
                if (s->grants[i]->host == host)
                        state_retire_message(s, s->grants[i]);
                else
                        s->grants[kept++] = s->grants[i];
        s->n_grants = kept;
        return kept < before;
}

int state_load_grant(ClusterState *s, Argosy__GrantRecord *grant) {
        if (!fits(s, grant) || (s->n_grants > 0 && grant_compare(s->grants[s->n_grants - 1], grant) >= 0))
                return -EBADMSG;
        if (ARRAY_RESERVE(s->grants, s->n_grants + 1) < 0)
                return -ENOMEM;
        s->grants[s->n_grants++] = grant;
        return 0;
}

void state_access_done(ClusterState *s) {
        for (size_t i = 0; i < s->n_grants; i++)
                state_retire_message(s, s->grants[i]);
        free(s->grants);
}
