// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which services loop, by restart-loop.h. What is kept of one costs memory from its first restart after a
// failure on; those stand in one list in the order in which time will forget them, so there is one timer. A
// report of it waits for its turn as any other does that a unit causes by itself (report-pace.h).
//
// Without memory a restart is not counted.

#include "agent-loops.h"

#include "agent-unit.h"
#include "clock.h"
#include "unit-state.h"

static struct AgentLoop *loop_new(AgentUnit *u) {
        struct AgentLoop *l = calloc(1, sizeof(*l));

        if (!l)
                return NULL;
        list_init(&l->node);
        l->unit = u;
        l->loop.failed = u->failed_restarts;
        return u->loop = l;
}

void agent_loop_free(AgentUnit *u) {
        struct AgentLoop *l = TAKE_PTR(u->loop);

        if (!l)
                return;
        list_unlink(&l->node);
        free(l);
}

void agent_loop_on_change(AgentUnit *u) {
        const UnitRuntime *rt = &u->watch.runtime;
        struct AgentLoop *l = u->loop;
        uint64_t before_us;

        if (!l && rt->n_failed_restarts == u->failed_restarts)
                return;
        l = l ?: loop_new(u);
        u->failed_restarts = rt->n_failed_restarts;
        if (!l || (l->loop.restarts == rt->n_restarts && l->loop.failed == rt->n_failed_restarts))
                return;
        before_us = restart_loop_ends_us(&l->loop);
        (void) restart_loop_note(&l->loop, rt->n_restarts, rt->n_failed_restarts, clock_boot_us());
        if (restart_loop_ends_us(&l->loop) == 0) {
                agent_loop_free(u);
        } else if (restart_loop_ends_us(&l->loop) != before_us) { // a restart after a good end moves nothing
                list_unlink(&l->node);
                list_append(&u->node->agent->loops, &l->node);
        }
}

bool agent_unit_is_looping(const AgentUnit *u) {
        return u->loop && u->loop->loop.looping && !active_state_is_down(u->watch.runtime.active);
}

static struct AgentLoop *first(const Agent *a) {
        return list_is_empty(&a->loops) ? NULL : CONTAINER_OF(a->loops.next, struct AgentLoop, node);
}

void agent_loops_expire(Agent *a, uint64_t now_us) {
        struct AgentLoop *l;

        while ((l = first(a)) && restart_loop_ends_us(&l->loop) <= now_us) {
                AgentUnit *u = l->unit;
                bool looped = l->loop.looping;

                agent_loop_free(u);
                if (looped)
                        agent_unit_report(u);
        }
}

uint64_t agent_loops_next_wake(const Agent *a) {
        const struct AgentLoop *l = first(a);

        return l ? restart_loop_ends_us(&l->loop) : 0;
}
