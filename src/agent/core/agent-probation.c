// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which starts have still to prove themselves, as probation.h says. They stand in one queue of the agent in
// the order in which they began, so there is one timer, and a unit that passes is at its front. Before a
// unit passes, messages of systemd that were not read yet are read: a process that died during a standstill
// of this one has not passed. A unit that leaves the queue otherwise is reported at once, and so before any
// mark that would say that it has passed.

#include "agent-probation.h"

#include "agent-unit.h"
#include "clock.h"

static uint64_t now_ms(void) {
        return clock_boot_us() / USEC_PER_MSEC;
}

// systemd counts from 0 after an explicit start, unless it goes on counting.
static bool is_another_run(const AgentUnit *u) {
        const UnitRuntime *rt = &u->watch.runtime;

        return rt->n_restarts > u->work->restarts_before ||
               (rt->n_restarts > 0 && rt->n_restarts < u->work->restarts_before) ||
               (rt->loaded &&
                memcmp(rt->invocation_id, u->held.invocation_id, sizeof(rt->invocation_id)) != 0);
}

// Its place in the queue is at the end whenever at_ms is now.
static void queue(AgentUnit *u) {
        AgentUnitWork *work = u->work;

        list_unlink(&work->probation);
        if (u->probation == ARGOSY__PROBATION__PROBATION_ON && work->probation_start.waits)
                list_append(&u->node->agent->probations, &work->probation);
        drain_mark(&u->node->agent->drain); // arms the timer
}

static void set(AgentUnit *u, Argosy__Probation probation) {
        bool is_up = probation == ARGOSY__PROBATION__PROBATION_ON && !u->work->probation_start.left;

        if (is_up) // as before
                return;
        u->probation = (uint8_t) probation;
        queue(u);
        agent_unit_report(u);
}

void agent_probation_begin(AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);
        AgentUnitWork *work = u->work;

        agent_probation_end(u);
        if (!content || !content->simple || u->watch.runtime.skipped) // then there is no run
                return;
        u->probation = (uint8_t) probation_begin(&u->watch.runtime, is_another_run(u), now_ms(),
                                                 &work->probation_start);
        queue(u);
}

void agent_probation_on_change(AgentUnit *u) {
        ProbationStart *start = u->work ? &u->work->probation_start : NULL;
        bool was_before_exec;

        if (u->probation != ARGOSY__PROBATION__PROBATION_ON || !start)
                return;
        was_before_exec = start->before_exec;
        set(u, probation_on_change(start, &u->watch.runtime, is_another_run(u), now_ms()));
        if (u->probation == ARGOSY__PROBATION__PROBATION_ON && was_before_exec && !start->before_exec &&
            !start->left) {
                queue(u);
                agent_unit_report(u); // no mark was about it
        }
}

void agent_probation_end(AgentUnit *u) {
        if (u->work)
                list_unlink(&u->work->probation);
        u->probation = ARGOSY__PROBATION__PROBATION_NONE;
}

static AgentUnitWork *first(const Agent *a) {
        return list_is_empty(&a->probations) ? NULL
                                             : CONTAINER_OF(a->probations.next, AgentUnitWork, probation);
}

static bool is_due(const Agent *a, uint64_t ms) {
        const AgentUnitWork *work = first(a);

        return work && probation_due_ms(&work->probation_start, a->lived_at_ms) <= ms;
}

static void decide(AgentUnit *u) {
        u->probation = (uint8_t) probation_on_time(&u->work->probation_start);
        if (u->probation != ARGOSY__PROBATION__PROBATION_PASSED || u->work->probation_start.before_exec)
                agent_unit_report(u);
        agent_unit_settle(u);
}

// Its state is being asked for, as after a reload.
static void begin_again(AgentUnitWork *work, uint64_t ms) {
        work->probation_start.at_ms = ms;
        list_append(&work->unit->node->agent->probations, &work->probation);
        agent_unit_report(work->unit);
}

void agent_probation_pass(Agent *a) {
        AgentUnitWork *work;
        uint64_t ms = now_ms();

        if (!is_due(a, ms) || !agent_has_received_all(a))
                return;
        a->lived_at_ms = ms;
        while ((work = first(a)) && work->probation_start.at_ms + PROBATION_MS <= ms) {
                list_unlink(&work->probation);
                if (probation_awaits_exec(&work->probation_start, ms)) {
                        work->probation_start.at_ms = ms;
                        list_append(&a->probations, &work->probation);
                        continue;
                }
                a->lived_ms = work->probation_start.at_ms;
                if (systemd_manager_is_synced(work->unit->node->systemd))
                        decide(work->unit);
                else
                        begin_again(work, ms);
        }
}

void agent_probation_on_disconnected(AgentNode *node) {
        list_foreach_safe (n, &node->agent->probations) {
                AgentUnit *u = CONTAINER_OF(n, AgentUnitWork, probation)->unit;

                if (u->node != node)
                        continue;
                agent_probation_end(u);
                agent_unit_report(u);
        }
}

uint64_t agent_probation_next_wake(const Agent *a) {
        const AgentUnitWork *work = first(a);

        return work ? probation_due_ms(&work->probation_start, a->lived_at_ms) * USEC_PER_MSEC : 0;
}
