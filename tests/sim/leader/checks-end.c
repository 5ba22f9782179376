// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of what must come to be in the end. The log takes what comes, somebody leads, hosts of a core work,
// and the others stay lost. After some leases every wish is reached and stays so, every request is answered,
// and nothing waits in a queue. If not, the reason has a name.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "leader-private.h"
#include "request-kind.h"
#include "test.h"
#include "pending-requests.h"

// ------------------------------------------------------------------------------------------------ requests

static bool is_open(const WorldAsked *a) {
        return a->answer && !a->answer->error && !a->answer->final && !a->called_off;
}

// No more than half of the voters have power: what a secret is sealed with is kept by most of them before
// the secret counts.
static bool are_voters_few(void) {
        unsigned n = 0, n_up = 0;

        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                const Argosy__HostRecord *h = cluster_state_find_host(world.rig.state, i);

                n += h && h->role == ARGOSY__HOST_ROLE__ROLE_VOTER;
                n_up += h && h->role == ARGOSY__HOST_ROLE__ROLE_VOTER && rig_host(&world.rig, i)->up;
        }
        return 2 * n_up <= n;
}

static bool waits_for_voters(const Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE:
        case ARGOSY__REQUEST__WHAT_CLUSTER_ROLE:
                return true;
        case ARGOSY__REQUEST__WHAT_SECRET_SET:
                return are_voters_few();
        default:
                return false;
        }
}

// Those that wait for something to come to pass may wait for ever: also for hosts that are not heard,
// whatever works besides.
static bool may_stay_open(const WorldAsked *a) {
        const RequestKind *kind = request_kind(a->request->what_case);

        return !kind || kind->effect == REQUEST_WAITS || kind->streams || waits_for_voters(a->request);
}

void answered_on_end(void) {
        for (size_t i = 0; i < asks.n_asked; i++) {
                const WorldAsked *a = &asks.asked[i];

                if (!is_open(a) || may_stay_open(a))
                        continue;
                check_fail("requests-are-answered", "nobody has answered %s (%zu)",
                           request_kind(a->request->what_case)->name, i + 1);
        }
        if (asks.n_asked > 0)
                check_says("requests-are-answered");
}

// ------------------------------------------------------------------------------------------------ queues

// What the leader has taken on and not decided yet, and what it has for a host that would take it.
static void leader_has_nothing(void) {
        const Leader *l = world.rig.leader;

        list_foreach (i, &l->pending_requests) {
                const PendingRequest *t = CONTAINER_OF(i, PendingRequest, all);
                const Argosy__Request *q = t->request;

                if (waits_for_voters(q))
                        continue;
                if (list_is_linked(&t->queue))
                        check_fail("queues-are-empty", "%s waits for the leader",
                                   request_kind(q->what_case)->name);
        }
        if (l->batch_flying)
                check_fail("queues-are-empty", "an entry is on its way");
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                const Host *h = host_find(l, i);

                if (h && h->welcomed &&
                    (!list_is_empty(&h->ordering.due) || !list_is_empty(&h->requests.asks)))
                        check_fail("queues-are-empty",
                                   "the leader has something for n%u, which would take it", i);
        }
}

void queues_on_end(void) {
        if (world.rig.n_held > 0)
                check_fail("queues-are-empty", "%zu entries wait for the log", world.rig.n_held);
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                const RigHost *h = rig_host(&world.rig, i);

                if (h->up && h->n_inbox > 0)
                        check_fail("queues-are-empty", "n%u has %zu messages that it does not take", i,
                                   h->n_inbox);
        }
        leader_has_nothing();
        check_says("queues-are-empty");
}

// ------------------------------------------------------------------------------------------------ wishes

const char *world_why_not_reached(unsigned i) {
        const LogUnit *u = &log_truth.units[i];
        const WorldContent *c = world_content_find(u->spec.bytes);
        const Argosy__UnitRecord *r = rig_record(&world.rig, asks.units[i].name);
        const RigHost *h;
        const VirtualUnit *v;

        if (!u->exists || u->target != ARGOSY__TARGET__TARGET_LAUNCHED || u->global)
                return NULL;
        if (!c || c->bad || c->picky || r->n_outcomes > 0 || heard_has_failed(i))
                return NULL;
        if (u->node == 0)
                return c->picky || places_are_barred(i) ? NULL
                       : places_any_open()              ? "has no node, and there is one that could have it"
                                                        : NULL;
        if (places_host_of(u->node) == 0)
                return "is on a node that nobody has";
        h = rig_host(&world.rig, places_host_of(u->node));
        if (!h->up)
                return (asks.swarm.mass_loss_percent < 100 && places_n_down() > 1) || c->picky ||
                                       places_are_barred(i) || !places_any_open()
                               ? NULL
                               : "is on a node that is lost, and could be elsewhere";
        v = virtual_host_find(&h->virtual, asks.units[i].name);
        if (v && v->order.revision == u->revision && v->order.target == ARGOSY__TARGET__TARGET_LAUNCHED &&
            v->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                return NULL; // it has ended there by itself, when nobody heard it
        if (!v || v->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE)
                return v ? "does not run where it is to run" : "is not known where it is to run";
        return NULL;
}

// It depends on others, or nobody knows what it is.
static bool world_why_unknown(unsigned i) {
        const WorldContent *c = world_content_find(log_truth.units[i].spec.bytes);

        return !c || c->picky;
}

static uint64_t entries_then, jobs_then;
static uint64_t revisions_then[WORLD_UNITS_MAX];
static bool held_then[LOG_JOBS_MAX];

// And so it stays: what is reached has the same revision when it is looked at again.
void reached_on_end(void) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                const char *why = world_why_not_reached(i);

                if (why)
                        check_fail("wishes-are-reached", "%s %s", asks.units[i].name, why);
                if (log_truth.units[i].exists &&
                    log_truth.units[i].target == ARGOSY__TARGET__TARGET_LAUNCHED)
                        check_says("wishes-are-reached");
                revisions_then[i] = log_truth.units[i].revision;
        }
        for (uint64_t i = 0; i <= log_truth.n_jobs; i++)
                held_then[i] = log_truth.jobs[i] && log_truth.jobs[i]->state == ARGOSY__JOB_STATE__JOB_HELD;
        entries_then = log_truth.n_entries;
        jobs_then = log_truth.n_jobs;
}

// The job that has changed the unit last was asked for before, and was held until then, or is a rebalance,
// which moves the next unit when the one before has been well for long enough.
static bool goes_on(unsigned unit) {
        uint64_t last = 0;

        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++)
                if (log_truth.jobs[i] && log_truth.jobs[i]->touched_at[unit] > 0 &&
                    (last == 0 ||
                     log_truth.jobs[i]->touched_at[unit] > log_truth.jobs[last]->touched_at[unit]))
                        last = i;
        return held_then[last] ||
               (last > 0 && last <= jobs_then && strcmp(log_truth.jobs[last]->verb, "rebalance") == 0);
}

// It takes its next step when the unit of the one before has been well for long enough.
static bool is_rolling(unsigned i) {
        size_t n;
        Argosy__RolloutRecord *const *rollouts = cluster_state_rollouts(world.rig.state, &n);

        for (size_t k = 0; k < n; k++)
                if (rollout_is_under_way(rollouts[k]) &&
                    (strcmp(rollouts[k]->name, asks.units[i].name) == 0 ||
                     strcmp(rollouts[k]->name, asks.units[i].file) == 0))
                        return true;
        return false;
}

void stays_on_end(void) {
        bool awaited[WORLD_UNITS_MAX];

        for (unsigned i = 0; i < asks.n_units; i++)
                awaited[i] = places_has_deadline(log_truth.units[i].node) || world_why_unknown(i) ||
                             heard_has_failed(i) || is_rolling(i);
        rig_pass_ms(&world.rig, 2 * asks.swarm.lease_ms);
        for (unsigned i = 0; i < asks.n_units; i++)
                if (log_truth.units[i].revision != revisions_then[i] && !awaited[i] && !goes_on(i))
                        check_fail("wishes-stay-reached", "%s is changed, and nothing has happened",
                                   asks.units[i].name);
        if (log_truth.n_entries == entries_then)
                check_says("wishes-stay-reached");
}
