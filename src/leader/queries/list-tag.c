// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Nobody has to compare rows, and no list is kept: a list that takes several turns to make relies on being
// told of every unit and node of which a row may have changed (listings.c), and of the tables that all rows
// depend on. The same is counted here, list or no list. What somebody may see is a part of it, and so are
// the leader and its term: another one counts for itself.

#include "list-tag.h"

#include <string.h>

#include "authorization.h"
#include "due.h"
#include "hash.h"
#include "host-marks.h"
#include "str.h"

// A unit that was destroyed and may still run somewhere has a row for as long as a guard lets it, which
// follows from time alone.
static bool shows_what_is_destroyed(const Leader *l) {
        return l->units.count > cluster_state_n_units(l->state) || cluster_state_n_tombstones(l->state) > 0;
}

bool list_tag(const Leader *l, const Argosy__Author *author, char ret[LIST_TAG_SIZE]) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);
        uint64_t numbers[] = {cluster ? cluster->generation : 0,
                              l->term,
                              l->config.self,
                              l->n_list_touches,
                              l->n_host_changes,
                              cluster_state_hosts_revision(l->state),
                              cluster_state_rollouts_revision(l->state),
                              cluster_state_roles_revision(l->state),
                              authorization_scope(l, author),
                              authorization_revision(l)};
        uint8_t bytes[16 + sizeof(numbers)] = {};
        Hash hash;

        if (!l->leading || !cluster || shows_what_is_destroyed(l))
                return false;
        if (leader_is_due(l, DUE_GLOBALS) || hosts_have_mark(l, HOST_GLOBALS))
                return false; // some are about to give way
        if (cluster->cluster_id.len > 0)
                memcpy(bytes, cluster->cluster_id.data, MIN_OF(cluster->cluster_id.len, (size_t) 16));
        memcpy(bytes + 16, numbers, sizeof(numbers));
        hash = hash_of(bytes, sizeof(bytes));
        hash_hex(&hash, 16, ret);
        return true;
}

bool list_tag_is_known(const char *tag, const char *known) {
        size_t len = strlen(tag);

        for (const char *p = known; (p = strstr(p, tag)); p += len)
                if ((p == known || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
                        return true;
        return false;
}
