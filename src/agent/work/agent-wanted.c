// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a unit is to be from now on: an order becomes the unit's, which is then planned and reported.
//
//      agent_unit_want(), agent_unit_want_gone(), agent_unit_unwant() -> marked
//          -> plan.c decides in this turn's drain
//
// On success the unit owns `spec`. Failure: -ENOMEM, and nothing has changed.

#include <errno.h>

#include "agent-carried.h"
#include "agent-core.h"
#include "agent-spec.h"
#include "agent-start-barrier.h"
#include "agent-unit.h"
#include "agent-wanted.h"

// After `cluster recover` revisions may have gone back: a number in the record above the order's was never
// given.
static void clamp_held(AgentUnit *u, const PlanWanted *w) {
        if (!u->has_held || w->remove)
                return;
        u->held.start_rev = MIN_OF(u->held.start_rev, w->start_rev);
        u->held.restart_rev = MIN_OF(u->held.restart_rev, w->restart_rev);
        u->held.stop_rev = MIN_OF(u->held.stop_rev, w->stop_rev);
}

// Only the order's revision is new, as for an order that concerns the unit's other nodes.
static bool asks_for_nothing_new(const PlanWanted *before, const PlanWanted *w) {
        return !w->remove && !before->remove && w->target == before->target &&
               hash_equal(&w->spec, &before->spec) && w->start_rev <= before->start_rev &&
               w->restart_rev <= before->restart_rev && w->stop_rev <= before->stop_rev;
}

// A new request is tried at once, without the last one's back-off. What was given up stays so if nothing new
// is asked.
static void begin_anew(AgentUnit *u, const PlanWanted *wanted) {
        AgentUnitWork *work = u->work;
        bool given_up = work->error && work->failures == 0 && u->has_wanted &&
                        asks_for_nothing_new(&work->wanted, wanted);

        work->failures = 0;
        work->retry_us = 0;
        work->verdict = PLAN_VERDICT_NONE;
        u->load_retried = u->pin_failed = u->refused = false;
        if (work->busy == PLAN_NOTHING && !given_up)
                agent_unit_clear_error(u);
}

int agent_unit_want(AgentUnit *u, const PlanWanted *wanted, AgentSpec *spec, bool from_template) {
        AgentUnitWork *work = agent_unit_work(u);
        Agent *a = u->node->agent;

        if (!work)
                return -ENOMEM;
        if (!u->has_wanted || work->wanted.revision != wanted->revision ||
            work->wanted.remove != wanted->remove)
                begin_anew(u, wanted);
        agent_carried_overtaken(u);
        work->files_ready = work->image_ready = work->volumes_seen = work->name_seen = false;
        work->networks_seen = work->network_stale = work->network_in_way = false;
        agent_spec_unref(a, work->spec);
        work->spec = spec;
        work->wanted = *wanted;
        work->request = a->n_obeyed;
        work->from_template = from_template;
        work->left_behind = false; // known only for the former content
        u->has_wanted = true;
        u->gone = false;
        agent_start_barrier_ordered(u);
        clamp_held(u, wanted);
        agent_unit_report_step(u);
        agent_unit_mark(u);
        return 0;
}

int agent_unit_want_gone(AgentUnit *u, uint64_t revision) {
        PlanWanted wanted = {.remove = true, .revision = revision};

        return agent_unit_want(u, &wanted, NULL, false);
}

int agent_unit_unwant(AgentUnit *u) {
        if (u->has_wanted && agent_unit_doing(u)->wanted.remove)
                return 0;
        return agent_unit_want_gone(u, agent_unit_answered(u));
}
