// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What systemd says, and the ends of steps.

#include "agent-core.h"

typedef struct AgentStepCall { // userdata of one job or reload
        AgentNode *node;
        uint64_t number;
        char name[];
} AgentStepCall;
// For the step under way; NULL: out of memory. The caller frees it.
AgentStepCall *agent_step_call_new(const AgentUnit *u);
extern const SystemdOps agent_systemd_ops; // userdata: the AgentNode
void agent_on_job_done(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata);
void agent_on_pin_done(const char *pin, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata);
void agent_on_loaded(const char *name, Argosy__LoadState load, const char *error, void *userdata);
// Reloads for the step under way, if that still has a reason; owns `call` unless it fails.
int agent_reload(AgentUnit *u, AgentStepCall *call);
// NULL if the step was overtaken or the unit is gone.
AgentUnit *agent_step_find(AgentNode *node, const char *name, uint64_t number);
// The step of the unit ended. `error` NULL: well. Otherwise it is tried again later.
void agent_step_done(AgentUnit *u, const char *error);
// Its start goes without a pin.
void agent_pin_failed(AgentUnit *u);
