// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of units that are not as they are to be when all is calm, by contents as they were written, the log,
// and the hosts: a unit without a node waits for something, and what has a node runs there. A host that
// could have the unit is one of which that is certain: it is up, open and heard, it is named, it has the
// labels and the room, and nobody is there, or wants to be, whom the unit does not get on with. So nothing
// is said of a unit whose options do not let that be certain.
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "str.h"
#include "test.h"

static const WorldContent *content_of(unsigned i) {
        return log_content(&log_truth.units[i]);
}

static bool all_are_known(void) {
        for (unsigned i = 0; i < asks.n_units; i++)
                if (log_truth.units[i].exists && !content_of(i))
                        return false;
        return true;
}

static bool reserves(const WorldContent *c) {
        return c->cpu_milli || c->memory_mib || c->gpus;
}

// ------------------------------------------------------------------------------------------ which hosts

static bool has_label(const Argosy__HostRecord *h, const char *key, const char *value) {
        for (size_t i = 0; i < h->n_labels; i++)
                if (streq(h->labels[i]->key, key) && streq(h->labels[i]->value, value))
                        return true;
        return false;
}

static bool is_of_pool(const Argosy__HostRecord *h, const char *name) {
        size_t n;
        Argosy__PoolRecord *const *pools = cluster_state_pools(world.rig.state, &n);

        for (size_t i = 0; i < n; i++) {
                if (!streq(pools[i]->name, name))
                        continue;
                for (size_t k = 0; k < pools[i]->n_hosts; k++)
                        if (streq(pools[i]->hosts[k], h->name))
                                return true;
                for (size_t k = 0; k < pools[i]->n_labels; k++)
                        if (has_label(h, pools[i]->labels[k]->key, pools[i]->labels[k]->value))
                                return true;
        }
        return false;
}

// No other unit of the cluster is on the host that one of both does not want to be with.
static bool is_among_friends(unsigned i, uint32_t host) {
        const WorldContent *c = content_of(i);

        for (unsigned k = 0; k < asks.n_units; k++) {
                const LogUnit *u = &log_truth.units[k];
                const WorldContent *other = k == i ? NULL : content_of(k);

                if (!other)
                        continue;
                if (!u->global && u->node && places_host_of(u->node) != host)
                        continue;
                if ((c->conflicts & 1u << k) || (other->conflicts & 1u << i) || (other->replaces & 1u << i))
                        return false;
        }
        return true;
}

static bool has_room(unsigned i, uint32_t host) {
        const WorldContent *c = content_of(i);
        unsigned cpu_milli = c->cpu_milli, memory_mib = c->memory_mib;

        if (!reserves(c))
                return true;
        for (unsigned k = 0; k < asks.n_units; k++) {
                const LogUnit *u = &log_truth.units[k];

                if (k == i || u->global || !u->node || places_host_of(u->node) != host || !content_of(k))
                        continue;
                cpu_milli += content_of(k)->cpu_milli;
                memory_mib += content_of(k)->memory_mib;
        }
        return !c->gpus && cpu_milli <= rig_host(&world.rig, host)->cpu_milli &&
               memory_mib <= rig_host(&world.rig, host)->memory_mib;
}

static bool could_have(unsigned i, uint32_t host) {
        const WorldContent *c = content_of(i);
        const Argosy__HostRecord *h = cluster_state_find_host(world.rig.state, host);

        if (!h || !places_is_certain(host) || (c->hosts && !(c->hosts & 1u << (host - 1))))
                return false;
        if (c->zone && !has_label(h, "zone", c->zone))
                return false;
        return (!c->pool || is_of_pool(h, c->pool)) && is_among_friends(i, host) && has_room(i, host);
}

// A role may have no more than that, or what others of the same need is kept for them.
static bool are_amounts_simple(unsigned i) {
        size_t n;
        Argosy__RoleRecord *const *roles = cluster_state_roles(world.rig.state, &n);

        for (size_t k = 0; k < n; k++)
                if (roles[k]->n_limit > 0 || roles[k]->n_guarantee > 0)
                        return false;
        for (unsigned k = 0; k < asks.n_units; k++)
                if (k != i && content_of(k) && reserves(content_of(k)) && log_truth.units[k].node == 0)
                        return false;
        return true;
}

static bool is_simple(unsigned i) {
        const WorldContent *c = content_of(i);

        return c && !c->careless && !c->global && !c->image && !c->other_label && !c->managers &&
               !c->spread && !c->same_node && !c->secret && !c->restart_elsewhere && !c->node_lost &&
               !c->bad && !heard_was_refused(i) && !heard_has_failed(i);
}

static bool is_ended(unsigned i) {
        const Argosy__UnitRecord *r = rig_record(&world.rig, asks.units[i].name);

        return !r || r->n_outcomes > 0;
}

static void one_waits(unsigned i) {
        if (!is_simple(i) || is_ended(i) || (reserves(content_of(i)) && !are_amounts_simple(i)))
                return;
        check_says("waits-for-something");
        for (uint32_t host = 1; host <= asks.swarm.hosts; host++)
                if (could_have(i, host))
                        check_fail("waits-for-something", "%s has no node, and n%u could have it",
                                   asks.units[i].name, host);
}

// ------------------------------------------------------------------------------------------ what has a node

static void one_runs(unsigned i) {
        const LogUnit *u = &log_truth.units[i];
        const WorldContent *c = content_of(i);
        uint32_t host = places_host_of(u->node);
        const RigHost *h = host > 0 && host <= asks.swarm.hosts ? rig_host(&world.rig, host) : NULL;
        const VirtualUnit *v = h ? virtual_host_find(&h->virtual, asks.units[i].name) : NULL;

        if (!is_simple(i) || is_ended(i) || c->requires || c->binds_to || c->replaces || c->oneshot ||
            c->n_files > 0 || !h || !places_is_in_session(u->node) || !heard_is_lively(host))
                return;
        check_says("waits-for-something");
        if (v && v->order.revision == u->revision && v->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                return; // it has ended there by itself, when nobody heard it
        if (v && v->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING)
                return; // it has just come there
        if (!v || v->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE)
                check_fail("waits-for-something",
                           "%s is to run on n%u, and does not, and nothing is in its way",
                           asks.units[i].name, host);
}

bool waiting_any_rollout(void) {
        size_t n;
        Argosy__RolloutRecord *const *rollouts = cluster_state_rollouts(world.rig.state, &n);

        for (size_t i = 0; i < n; i++)
                if (rollout_is_under_way(rollouts[i]))
                        return true;
        return false;
}

// A rebalance or a rollout takes its next step whenever the one before is well.
static bool is_going_on(void) {
        if (waiting_any_rollout())
                return true;
        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++)
                if (log_truth.jobs[i] && log_truth.jobs[i]->state == ARGOSY__JOB_STATE__JOB_RUNNING &&
                    streq(log_truth.jobs[i]->verb, "rebalance"))
                        return true;
        return false;
}

void waiting_on_calm(void) {
        if (!all_are_known() || !world_is_well() || is_going_on())
                return;
        for (unsigned i = 0; i < asks.n_units; i++) {
                const LogUnit *u = &log_truth.units[i];

                if (!u->exists || u->global || u->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                        continue;
                if (u->node == 0)
                        one_waits(i);
                else
                        one_runs(i);
        }
}
