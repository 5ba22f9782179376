// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Taking a snapshot of the replicated state: it keeps the roots of the big tables, and copies the arrays of
// the small ones, which are at most some 5,000 pointers (40 KiB), and as many as jobs are held back. What
// they point to is immutable; who replaces it retires it.
//
// Two who ask in the same version of the state share one. Only the newest can be asked for again.

#include "cluster-snapshot.h"

#include <errno.h>

#include "cluster-state-private.h"

struct ClusterSnapshot {
        SnapshotMark mark;
        ClusterState *state;
        uint64_t version;
        size_t users;
        StateView view;
        void *small[]; // the arrays of the small tables, one behind the other
};

StateView state_view(const ClusterState *s) {
        return (StateView){
                .cluster = s->cluster,
                .revision = s->revision,
                .last_host = s->last_host,
                .last_node = s->last_node,
                .last_raft_id = s->last_raft_id,
                .units = paged_table_view(&s->unit_records),
                .specs = paged_table_view(&s->spec_entries),
                .hosts = paged_table_view(&s->host_records),
                .tombstones = paged_table_view(&s->tombstone_entries),
                .tokens = s->tokens,
                .n_tokens = s->n_tokens,
                .rollouts = s->rollouts,
                .n_rollouts = s->n_rollouts,
                .roles = s->roles,
                .n_roles = s->n_roles,
                .pools = s->pools,
                .n_pools = s->n_pools,
                .former = s->former,
                .n_former = s->n_former,
                .grants = s->grants,
                .n_grants = s->n_grants,
                .access_set = s->access_set,
                .access_tokens = s->access_tokens,
                .n_access_tokens = s->n_access_tokens,
                .secrets = s->secrets,
                .n_secrets = s->n_secrets,
                .jobs = state_jobs_view(s),
                .keys = s->keys,
                .stored = s->stored.requests,
                .n_stored = s->stored.n,
                .queue = s->queue,
                .time_us = s->time_us,
                .clock_us = s->clock_us,
                .counted_us = s->counted_us,
                .corrections = s->corrections,
        };
}

static void *copy_array(void *array, size_t n, void ***at) {
        void **copy = *at;

        if (n > 0)
                memcpy(copy, array, n * sizeof *copy);
        *at += n;
        return copy;
}

static void copy_small_tables(StateView *v, void **at) {
        v->tokens = copy_array(v->tokens, v->n_tokens, &at);
        v->rollouts = copy_array(v->rollouts, v->n_rollouts, &at);
        v->roles = copy_array(v->roles, v->n_roles, &at);
        v->pools = copy_array(v->pools, v->n_pools, &at);
        v->former = copy_array(v->former, v->n_former, &at);
        v->grants = copy_array(v->grants, v->n_grants, &at);
        v->access_tokens = copy_array(v->access_tokens, v->n_access_tokens, &at);
        v->secrets = copy_array(v->secrets, v->n_secrets, &at);
        v->keys.open = copy_array(v->keys.open, v->keys.n_open, &at);
        v->jobs.held = copy_array(v->jobs.held, v->jobs.n_held, &at);
        v->stored = copy_array(v->stored, v->n_stored, &at);
}

int cluster_state_snapshot(ClusterState *s, ClusterSnapshot **ret) {
        StateView view = state_view(s);
        size_t n = view.n_tokens + view.n_rollouts + view.n_roles + view.n_pools + view.n_former +
                   view.n_grants + view.n_access_tokens + view.n_secrets + view.keys.n_open +
                   view.jobs.n_held + view.n_stored;
        ClusterSnapshot *snapshot = s->newest;
        int r;

        if (snapshot && snapshot->version == s->version) {
                snapshot->users++;
                *ret = snapshot;
                return 0;
        }
        snapshot = malloc(sizeof *snapshot + n * sizeof *snapshot->small);
        if (!snapshot)
                return -ENOMEM;
        r = snapshot_clock_take(s->clock, &snapshot->mark);
        if (r < 0) {
                free(snapshot);
                return r;
        }
        snapshot->state = s;
        snapshot->version = s->version;
        snapshot->users = 1;
        snapshot->view = view;
        copy_small_tables(&snapshot->view, snapshot->small);
        *ret = s->newest = snapshot;
        return 0;
}

void cluster_snapshot_unref(ClusterSnapshot *snapshot) {
        ClusterState *s = snapshot->state;

        assert(snapshot->users > 0);
        if (--snapshot->users > 0)
                return;
        if (s->newest == snapshot)
                s->newest = NULL;
        snapshot_clock_release(s->clock, &snapshot->mark);
        free(snapshot);
}

bool cluster_snapshot_is_cut(const ClusterSnapshot *snapshot) {
        return snapshot->mark.cut;
}

bool cluster_state_reclaim(ClusterState *s) {
        return snapshot_clock_reclaim(s->clock, SNAPSHOT_RECLAIM_STEP);
}

const StateView *cluster_snapshot_view(const ClusterSnapshot *snapshot) {
        return &snapshot->view;
}
