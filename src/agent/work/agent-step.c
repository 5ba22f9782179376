// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The step that is under way for a unit: found by its number, and its end noted.
//
//      agent_step_call_new() -> the answer -> agent_step_find()
//          -> agent_step_done(), _given_up(), _lost() ...
//
// Each end marks the unit, so that it is planned again. A step that failed is tried again after
// plan_backoff_us(); one that was given up waits for the next order. An answer to a former step finds no
// unit (NULL).

#include "agent-core.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "clock.h"
#include "log.h"

AgentStepCall *agent_step_call_new(const AgentUnit *u) {
        AgentStepCall *c = malloc(sizeof(*c) + strlen(u->name) + 1);

        if (!c)
                return NULL;
        c->node = u->node;
        c->number = u->work->step_number;
        strcpy(c->name, u->name);
        return c;
}

AgentUnit *agent_step_find(AgentNode *node, const char *name, uint64_t number) {
        AgentUnit *u = agent_unit_find(node, name);

        return u && agent_unit_doing(u)->busy != PLAN_NOTHING && u->work->step_number == number ? u : NULL;
}

void agent_step_done(AgentUnit *u, const char *error) {
        AgentUnitWork *work = u->work;

        log_unit(LOG_DEBUG, u->name, "%s: %s: %s", u->name, plan_step_to_string(work->busy),
                 error ?: "done");
        work->busy = PLAN_NOTHING;
        if (error) {
                work->failures++;
                work->retry_us = clock_boot_us() + plan_backoff_us(work->failures);
                agent_unit_set_error(u, "%s", error);
        } else {
                work->failures = 0;
                work->retry_us = 0;
                agent_unit_clear_error(u);
        }
        agent_unit_mark(u);
}

void agent_step_prepared(AgentUnit *u) {
        u->work->busy = PLAN_NOTHING;
        agent_unit_mark(u);
}

void agent_step_given_up(AgentUnit *u, const char *error) {
        AgentUnitWork *work = u->work;

        log_unit(LOG_DEBUG, u->name, "%s: %s: %s", u->name, plan_step_to_string(work->busy), error);
        work->busy = PLAN_NOTHING;
        work->failures = 0;
        work->retry_us = 0;
        agent_unit_set_error(u, "%s", error);
        agent_unit_mark(u);
}

void agent_step_lost(AgentUnit *u) {
        u->work->busy = PLAN_NOTHING;
        u->unwatched = true;
        agent_unit_mark(u);
}

void agent_step_undo_start(AgentUnit *u) {
        u->held.target = ARGOSY__TARGET__TARGET_LOADED;
        agent_unit_record(u);
}
