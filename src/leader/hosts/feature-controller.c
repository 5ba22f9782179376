// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Raises the log's feature level when feature-policy.c says so, and says what keeps it down.
//
//   a host's link comes up, a record or the log's configuration changes -> DUE_FEATURES ->
//   feature_controller_decide() in the next batch
//
// Hosts are only looked at while the log is below this build's level, which is as long as an upgrade takes.
// An entry that could not be committed is decided again.
#include <errno.h>

#include "batch-builder.h"
#include "due.h"
#include "feature-controller.h"
#include "feature-level.h"
#include "feature-policy.h"
#include "log.h"
#include "registry.h"
#include "response.h"
#include "tables.h"

enum { FEATURES_NAMED_MAX = 3 }; // of the hosts that hold it back, in a sentence

static bool has_record(const HostEntry *hosts, size_t n, uint32_t raft_id) {
        for (size_t i = 0; i < n; i++)
                if (hosts[i].record->raft_id == raft_id)
                        return true;
        return false;
}

static FeatureHost view_of_host(const Leader *l, const Argosy__HostRecord *r) {
        const Host *h = host_find(l, r->host);

        return (FeatureHost){
                .host = r->host,
                .counts = r->role == ARGOSY__HOST_ROLE__ROLE_VOTER || r->raft_id || !r->no_promote,
                .level = r->host == l->config.self ? FEATURE_LEVEL
                         : h && h->linked          ? h->feature_level
                                                   : 0,
        };
}

// NULL: out of memory.
static FeatureHost *view(const Leader *l, size_t *ret_n) {
        StoreStats stats = {};
        size_t n_hosts, n = 0;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n_hosts);
        FeatureHost *v = calloc(n_hosts + STORE_MEMBERS_MAX, sizeof(*v));

        if (!v)
                return NULL;
        l->ops.stats(&stats, l->userdata);
        for (size_t i = 0; i < n_hosts; i++)
                v[n++] = view_of_host(l, hosts[i].record);
        for (size_t i = 0; i < stats.n_members && i < STORE_MEMBERS_MAX; i++)
                if (!has_record(hosts, n_hosts, stats.members[i].raft_id))
                        v[n++] = (FeatureHost){.counts = true};
        *ret_n = n;
        return v;
}

// What the next level has, once the log may have it: FEATURE_SYNTHETIC.
static int put_synthetic(Leader *l, BatchBuilder *b) {
        Argosy__ClusterRecord cluster = *cluster_state_cluster(l->state);
        int r;

        if (cluster_state_feature_level(l->state) < FEATURE_SYNTHETIC || cluster.synthetic) {
                (void) leader_take_due(l, DUE_SYNTHETIC); // until the cluster's record changes
                return 0;
        }
        cluster.synthetic = true;
        r = batch_builder_put_cluster(b, &cluster);
        return r == -EBUSY ? 0 : r; // with the next batch
}

int feature_controller_decide(Leader *l, BatchBuilder *b) {
        uint32_t now = cluster_state_feature_level(l->state), next;
        Argosy__ClusterRecord cluster;
        _cleanup_free_ FeatureHost *hosts = NULL;
        size_t n;
        int r;

        if (now >= FEATURE_LEVEL)
                (void) leader_take_due(l, DUE_FEATURES);
        if (!leader_is_due(l, DUE_FEATURES))
                return put_synthetic(l, b);
        hosts = view(l, &n);
        if (!hosts)
                return -ENOMEM;
        next = feature_policy_level(hosts, n, now, FEATURE_LEVEL);
        if (next > now) {
                cluster = *cluster_state_cluster(l->state);
                cluster.feature_level = next;
                r = batch_builder_put_cluster(b, &cluster);
                if (r < 0)
                        return r == -EBUSY ? 0 : r; // with the next batch
                log_notice(
                        "The cluster's feature level rises from %u to %u: an argosyd that has less can be a "
                        "voter no more.",
                        now, next);
        }
        (void) leader_take_due(l, DUE_FEATURES);
        return 0;
}

bool feature_controller_host_is_too_old(const Leader *l, const Host *h) {
        return h && h->linked && h->number != l->config.self &&
               h->feature_level < cluster_state_feature_level(l->state);
}

// ----------------------------------------------------------------------------------------------- for people

static int name_holder(const Leader *l, const FeatureHost *h, char **notice) {
        const Argosy__HostRecord *r = cluster_state_find_host(l->state, h->host);
        const char *name = r ? r->name : "a removed host", *sep = **notice ? ", " : "";

        if (h->level)
                return field_printf(notice, "%s%s%s has %u", *notice, sep, name, h->level);
        return field_printf(notice, "%s%s%s is not heard", *notice, sep, name);
}

int feature_controller_notice(const Leader *l, char **notice) {
        _cleanup_free_ FeatureHost *hosts = NULL;
        uint32_t newest = FEATURE_LEVEL;
        size_t n, n_holders = 0;
        int r = 0;

        if (!l->leading)
                return 0; // a host that is not heard here may be heard by the leader
        hosts = view(l, &n);
        if (!hosts)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                newest = MAX_OF(newest, hosts[i].level);
        if (newest <= cluster_state_feature_level(l->state))
                return 0;
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (feature_policy_holds(&hosts[i], newest) && n_holders++ < FEATURES_NAMED_MAX)
                        r = name_holder(l, &hosts[i], notice);
        if (r >= 0 && n_holders > FEATURES_NAMED_MAX)
                r = field_printf(notice, "%s, and %zu more", *notice, n_holders - FEATURES_NAMED_MAX);
        return r < 0 ? r : field_printf(notice, "not %u yet: %s", newest, *notice);
}
