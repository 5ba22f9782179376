// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The step that is under way about a unit.

#include "agent-core.h"

typedef struct AgentStepCall { // userdata of one job or reload
        AgentNode *node;
        uint64_t number;
        char name[];
} AgentStepCall;
// For the step under way; NULL: out of memory. The caller frees it.
AgentStepCall *agent_step_call_new(const AgentUnit *u);
// NULL if the step was overtaken or the unit is gone.
AgentUnit *agent_step_find(AgentNode *node, const char *name, uint64_t number);
// The step of the unit ended. `error` NULL: well. Otherwise it is tried again later.
void agent_step_done(AgentUnit *u, const char *error);
// The step was a preparation, which went well: it says nothing of an error of the unit, nor of how long that
// waits to try again.
void agent_step_prepared(AgentUnit *u);
// The step failed and is not tried again by itself: the next request may.
void agent_step_given_up(AgentUnit *u, const char *error);
// Nobody knows what came of it: look at the unit when the connection is back.
void agent_step_lost(AgentUnit *u);
// Should the same start be wanted again, it is to be carried out again.
void agent_step_undo_start(AgentUnit *u);
