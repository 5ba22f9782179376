// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Rollouts in ClusterState (cluster-state-named.c); each uses the specs that it leads from and to, so these
// stay in the table.
//
//      state_put_rollout() on a log entry -> cluster_state_find_rollout() by readers
//
// At the limit (REFUSAL_ROLLOUTS) the oldest rollout that is over is dropped; if none is over,
// cluster-state-limits.h has refused the new one before. Failure: -ENOMEM.

#include "cluster-state-private.h"

#include <errno.h>

#include "str.h"

// A rollout that is under way uses both of its specs. False: one is unknown.
static bool rollout_specs(const ClusterState *s, const Argosy__RolloutRecord *r, SpecEntry *ret[2]) {
        const ProtobufCBinaryData *fields[] = {&r->spec, &r->spec_before};

        for (size_t i = 0; i < 2; i++) {
                Hash hash;

                ret[i] = NULL;
                if (fields[i]->len == 0)
                        continue;
                if (hash_from_bytes(fields[i]->data, fields[i]->len, &hash))
                        ret[i] = cluster_state_find_spec(s, &hash);
                if (!ret[i])
                        return false;
        }
        return true;
}

static void unuse_specs(ClusterState *s, const Argosy__RolloutRecord *r) {
        SpecEntry *specs[2];

        if (rollout_specs(s, r, specs))
                for (size_t i = 0; i < 2; i++)
                        if (specs[i])
                                state_unuse_spec(s, specs[i]);
}

static void drop_oldest_rollout(ClusterState *s) {
        size_t oldest = s->n_rollouts;

        for (size_t i = 0; i < s->n_rollouts; i++)
                if (!rollout_is_under_way(s->rollouts[i]) &&
                    (oldest == s->n_rollouts || s->rollouts[i]->revision < s->rollouts[oldest]->revision))
                        oldest = i;
        if (oldest == s->n_rollouts)
                return;
        unuse_specs(s, s->rollouts[oldest]);
        state_drop_named(s, &s->rollouts, &s->n_rollouts, oldest);
}

int state_put_rollout(ClusterState *s, Argosy__RolloutRecord *record) {
        const Argosy__RolloutRecord *before = cluster_state_find_rollout(s, record->name);
        SpecEntry *specs[2];

        (void) rollout_specs(s, record, specs);
        if (!before && s->n_rollouts >= s->refused.limits[REFUSAL_ROLLOUTS])
                drop_oldest_rollout(s);
        for (size_t k = 0; k < 2; k++) // before the old uses are dropped: the specs may be the same
                if (specs[k] && state_use_spec(s, specs[k]) < 0)
                        return -ENOMEM;
        if (before)
                unuse_specs(s, before);
        return state_put_named(s, &s->rollouts, &s->n_rollouts, record);
}

const Argosy__RolloutRecord *cluster_state_find_rollout(const ClusterState *s, const char *name) {
        return named_find(s->rollouts, s->n_rollouts, name);
}

Argosy__RolloutRecord *const *cluster_state_rollouts(const ClusterState *s, size_t *ret_n) {
        *ret_n = s->n_rollouts;
        return s->rollouts;
}

uint64_t cluster_state_rollouts_revision(const ClusterState *s) {
        return s->rollouts_revision;
}
