// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See decide-bound.h. What a request is bound to is looked up by its kind (HandlerLog.bound): units and
// files have revisions of their own, everything else has one with all of its kind.
//
// Failures: the pending request is told what has changed and by which revision, and how much of it was done
// before.

#include "decide-bound.h"

#include <errno.h>
#include <inttypes.h>

#include "decision.h"
#include "disruption-budget.h"
#include "forget-request.h"
#include "log-chunks.h"
#include "response.h"
#include "str.h"
#include "tables.h"

int decide_bound_describe(const Leader *l, const PendingRequest *t, const char *unit,
                          Argosy__Response__UnitResult *ret) {
        const UnitEntry *u = cluster_state_find_unit(l->state, unit);

        ret->status = ESTALE;
        if (!u)
                return field_printf(&ret->message, "it is not in the cluster any more, and was left out");
        return field_printf(&ret->message,
                            "it has changed since revision %" PRIu64 ", it is at %" PRIu64
                            ", and stays as it is",
                            t->asked.if_revision, u->record->revision);
}

int decide_bound_check_units(const Leader *l, PendingRequest *t, const Argosy__Request__Change *change) {
        uint64_t revision = t->request->job ? t->request->job->if_revision : 0;
        DecideExtent extent;

        for (size_t i = 0; revision > 0 && i < change->n_names; i++) {
                const UnitEntry *u = cluster_state_find_unit(l->state, change->names[i]);

                if (!u)
                        return request_refuse(t, ESTALE,
                                             "%s is not in the cluster, and may have been at revision "
                                             "%" PRIu64 ": %s",
                                             change->names[i], revision, decide_extent(t, extent));
                if (u->record->revision > revision)
                        return request_refuse(
                                t, ESTALE,
                                "%s has changed since revision %" PRIu64 ", it is at %" PRIu64 ": %s",
                                change->names[i], revision, u->record->revision, decide_extent(t, extent));
        }
        return STEP_PASSED;
}

int decide_bound_check_revision(PendingRequest *t, const char *what, uint64_t at) {
        uint64_t revision = t->request->job ? t->request->job->if_revision : 0;

        if (revision == 0 || at <= revision)
                return STEP_PASSED;
        return request_refuse(t, ESTALE,
                             "%s: something may have changed after revision %" PRIu64 ", up to %" PRIu64
                             ": nothing was changed",
                             what, revision, at);
}

uint64_t decide_bound_group_revision(const Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        // that a unit of it is gone is a change, too
        const DisruptionBudget *g = disruption_budget_find(l, name);
        uint64_t newest = e ? e->record->revision : 0;

        return MAX_OF(newest, g ? g->revision : 0);
}

// The newest revision of what a plan looks at: the units that the folder names, and those of the set. A unit
// that is gone has no revision: the revision of the last removal of any unit stands for it.
static uint64_t newest_of_folder(const ClusterState *state, const Argosy__Request__Apply *m) {
        const Map *members = cluster_state_units_of_set(state, m->set);
        uint64_t newest = cluster_state_left_revision(state);

        for (size_t i = 0; i < m->n_units; i++) {
                const UnitEntry *u = cluster_state_find_unit(state, m->units[i]->name);

                newest = MAX_OF(newest, u ? u->record->revision : 0);
        }
        if (members)
                map_foreach (slot, members) {
                        const UnitEntry *u = slot->value;

                        newest = MAX_OF(newest, u->record->revision);
                }
        return newest;
}

static uint64_t newest_of_jobs(const ClusterState *state, const Argosy__Request__JobRelease *m) {
        uint64_t newest = 0;

        for (size_t i = 0; i < m->n_numbers; i++)
                newest = MAX_OF(newest, cluster_state_job_revision(state, m->numbers[i]));
        return newest;
}

// All of them at once, since what is erased does not come back.
static int check_contents(const ClusterState *state, PendingRequest *t, const Argosy__Request__Forget *m) {
        uint64_t newest = 0;

        if (m->n_revs > t->leader->limits.forgets)
                return request_refuse(t, E2BIG,
                                     "with --if-revision up to %u unit files are erased at once, and "
                                     "these are %zu: nothing was erased",
                                     t->leader->limits.forgets, m->n_revs);
        for (size_t i = 0; i < m->n_revs; i++) {
                const SpecEntry *spec;
                Hash hash;

                if (!hex_decode(m->revs[i], &hash, HASH_SIZE))
                        continue;
                spec = cluster_state_find_spec(state, &hash);
                newest = MAX_OF(newest, spec ? cluster_state_spec_revision(state, spec) : 0);
        }
        return decide_bound_check_revision(t, "a unit's file", newest);
}

// What has no revision of its own has one with all of its kind, which a voter that has read a snapshot knows
// no better than that of the snapshot: rather refused than done. Of thousands of units all are looked at
// once, before the first is changed, and each chunk again when its turn has come.
int decide_bound_check(const Leader *l, PendingRequest *t, const HandlerLog *log) {
        const Argosy__Request *q = t->request;
        const ClusterState *state = l->state;

        switch (log->bound) {
        case BOUND_UNITS:
                return log_chunk_of(t) ? STEP_PASSED : decide_bound_check_units(l, t, q->change);
        case BOUND_GROUP:
                return decide_bound_check_revision(t, q->rollout->name,
                                                   decide_bound_group_revision(l, q->rollout->name));
        case BOUND_FOLDER:
                return decide_bound_check_revision(t, "what the folder is about",
                                                   newest_of_folder(state, q->apply));
        case BOUND_CLUSTER:
                return decide_bound_check_revision(t, "hosts, pools and the cluster",
                                                   cluster_state_hosts_revision(state));
        case BOUND_ROLES:
                return decide_bound_check_revision(t, "roles", cluster_state_roles_revision(state));
        case BOUND_QUEUE:
                return decide_bound_check_revision(t, "the rules of the queue",
                                                   cluster_state_queue_revision(state));
        case BOUND_RIGHTS:
                return decide_bound_check_revision(t, "rights and tokens",
                                                   cluster_state_access_revision(state));
        case BOUND_SECRETS:
                return decide_bound_check_revision(t, "secrets", cluster_state_secrets_revision(state));
        case BOUND_JOBS:
                return decide_bound_check_revision(t, "a job", newest_of_jobs(state, q->job_release));
        case BOUND_CONTENTS:
                return check_contents(state, t, q->forget);
        case BOUND_LATER:
                break;
        }
        return STEP_PASSED;
}
