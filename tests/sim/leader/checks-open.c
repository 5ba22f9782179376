// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of jobs that are open at the end, when everything works and is at rest: one that is running has a
// unit that is not yet as it is to be, and one that is held waits for somebody, for another job, or for a
// rule.
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "test.h"

// ------------------------------------------------------------------------------------------------ running

// What these verbs ask for is what their units become. Others empty nodes, or move units.
static bool is_about_units(const LogJob *j) {
        static const char *const verbs[] = {"start", "stop", "load", "unload", "restart", "destroy"};

        for (size_t i = 0; !j->parted && i < ELEMENTSOF(verbs); i++)
                if (strcmp(j->verb, verbs[i]) == 0)
                        return true;
        return strcmp(j->verb, "update") == 0 || strcmp(j->verb, "restart --rolling") == 0;
}

static bool is_held_by_nobody(const char *name) {
        for (uint32_t i = 1; i <= asks.swarm.hosts; i++) {
                const VirtualUnit *v = virtual_host_find(&rig_host(&world.rig, i)->virtual, name);

                if (v && v->ordered)
                        return false;
        }
        return true;
}

// As the log wants it, and its node has said so.
static bool is_reached(unsigned i) {
        const LogUnit *u = &log_truth.units[i];
        uint32_t host = u->exists ? places_host_of(u->node) : 0;
        const VirtualUnit *v =
                host > 0 && host <= asks.swarm.hosts
                        ? virtual_host_find(&rig_host(&world.rig, host)->virtual, asks.units[i].name)
                        : NULL;

        if (!u->exists)
                return is_held_by_nobody(asks.units[i].name);
        if (u->global || u->node == 0 || !v || v->order.node != u->node ||
            v->order.revision != u->revision || v->refused)
                return false;
        return v->active == (u->target == ARGOSY__TARGET__TARGET_LAUNCHED
                                     ? ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE
                                     : ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
}

// A rollout that the job has begun goes on whoever has changed the units since that had their turn.
static bool is_done_with(const LogJob *j, uint64_t number, unsigned i) {
        const LogRollout *o = log_rollout_of(log_truth.rollouts, i);

        if (o && o->began == j->begun)
                return false;
        return log_was_touched_since(number, i) || (is_reached(i) && !o);
}

static bool has_ended(const LogJob *j, uint64_t number) {
        if (j->touched == 0)
                return false;
        for (unsigned i = 0; i < asks.n_units; i++)
                if (j->touched & 1u << i && !is_done_with(j, number, i))
                        return false;
        return true;
}

// The log is told of an end with the next entry, or after a second; then what is held for that begins.
static bool stays(uint64_t number, Argosy__JobState state) {
        enum { REPORTED_MS = 2000 };

        rig_pass_ms(&world.rig, REPORTED_MS);
        return cluster_state_job_state(world.rig.state, number) == state;
}

// ----------------------------------------------------------------------------------------------- rebalances

static uint64_t find_rebalance(void) {
        for (uint64_t i = log_truth.first_job; i <= cluster_state_last_job(world.rig.state); i++)
                if (i <= log_truth.n_jobs && log_truth.jobs[i] &&
                    strcmp(log_truth.jobs[i]->verb, "rebalance") == 0 &&
                    cluster_state_job_state(world.rig.state, i) == ARGOSY__JOB_STATE__JOB_RUNNING)
                        return i;
        return 0;
}

// Units that were moved are watched for the time that was asked for, and the next ones move behind that.
static void let_rebalances_end(void) {
        enum { ROUND_MS = 1000, ROUNDS_MAX = 120 };

        for (unsigned i = 0; i < ROUNDS_MAX && find_rebalance() > 0; i++)
                rig_pass_ms(&world.rig, ROUND_MS);
        if (find_rebalance() > 0)
                check_fail("jobs-come-to-an-end",
                           "job %" PRIu64 " (rebalance) is running, when everything has been well for %u s",
                           find_rebalance(), ROUNDS_MAX);
}

// ------------------------------------------------------------------------------------------------ held

static bool is_waited_for(uint64_t number) {
        const LogJob *j = number <= log_truth.n_jobs ? log_truth.jobs[number] : NULL;

        return !j || j->state != ARGOSY__JOB_STATE__JOB_DONE;
}

static bool any_runs(void) {
        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++)
                if (log_truth.jobs[i] &&
                    cluster_state_job_state(world.rig.state, i) == ARGOSY__JOB_STATE__JOB_RUNNING)
                        return true;
        return false;
}

// A limit holds nothing when no job runs. Of whom and of what a rule asks besides is not looked at.
static bool may_be_held_by(const Argosy__QueueRule *rule, const LogJob *j) {
        if (*rule->verb && fnmatch(rule->verb, j->verb, 0) != 0)
                return false;
        return rule->action != ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT &&
               (rule->action != ARGOSY__QUEUE_ACTION__QUEUE_LIMIT || rule->limit == 0 || any_runs());
}

static bool is_held_by_rules(const LogJob *j) {
        const Argosy__QueueRecord *queue = cluster_state_queue(world.rig.state);

        for (size_t i = 0; i < queue->n_rules; i++)
                if (may_be_held_by(queue->rules[i], j))
                        return true;
        return false;
}

static bool any_rollout(void) {
        for (size_t i = 0; i < log_truth.n_rollouts; i++)
                if (*log_truth.rollouts[i].name &&
                    (log_truth.rollouts[i].phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RUNNING ||
                     log_truth.rollouts[i].phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING))
                        return true;
        return false;
}

// Whoever asked would rather wait than be refused for an update.
static bool may_be_behind(const LogJob *j) {
        for (size_t i = 0; j->has_id && i < asks.n_asked; i++) {
                const Argosy__Request *q = asks.asked[i].request;
                const uint8_t *id = log_request_id(q);

                if (id && memcmp(id, j->id, LOG_ID_SIZE) == 0 && q->job && q->job->queue)
                        return any_rollout();
        }
        return false;
}

// What is asked of members waits for other voters when it has been released, too.
static bool is_held_by_something(const LogJob *j) {
        if (strncmp(j->verb, "cluster ", strlen("cluster ")) == 0)
                return true;
        if (j->by_hand || log_truth.queue_is_closed || is_held_by_rules(j) || may_be_behind(j) ||
            queue_is_full_of_members())
                return true;
        for (size_t i = 0; i < j->n_waits_for; i++)
                if (is_waited_for(j->waits_for[i]))
                        return true;
        return false;
}

void open_on_finish(void) {
        let_rebalances_end();
        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++) {
                const LogJob *j = log_truth.jobs[i];

                if (!j || j->own != ARGOSY__OWN_CAUSE__OWN_NONE)
                        continue;
                check_says("jobs-come-to-an-end");
                if (j->state == ARGOSY__JOB_STATE__JOB_RUNNING && is_about_units(j) && has_ended(j, i) &&
                    stays(i, ARGOSY__JOB_STATE__JOB_RUNNING))
                        check_fail("jobs-come-to-an-end",
                                   "job %" PRIu64
                                   " (%s) is running, and all of its units are as they are to be",
                                   i, j->verb);
                if (j->state == ARGOSY__JOB_STATE__JOB_HELD && !is_held_by_something(j) &&
                    stays(i, ARGOSY__JOB_STATE__JOB_HELD))
                        check_fail("jobs-come-to-an-end",
                                   "job %" PRIu64 " (%s) is held, and nothing holds it", i, j->verb);
        }
}
