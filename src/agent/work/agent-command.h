// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Programs that argosyd asks about containers, their images and volumes, each in a transient service of its
// own. See agent-command.c.

#include "agent-core.h"
#include "transient-command.h"

typedef struct AgentCommand {
        const char *unit; // agent_command_unit(); NULL: a new one
        const char *description;
        const char *const *args; // NULL-terminated; args[0] is a path
        const char *auth_file;   // "NAME=VALUE" (agent-registry-auth.h); NULL: it shows registries nothing
        unsigned limit_sec;
        size_t output_max;
        void (*heard)(void *userdata); // as in TransientConfig
} AgentCommand;

// The name of a transient service that no other has: a new string; NULL: out of memory.
char *agent_command_unit(Agent *a);
// As transient_command_start().
int agent_command_start(Agent *a, const AgentCommand *command, TransientDone *done, void *userdata,
                        TransientCommand **ret);
// NULL from now on; the agent is not closed before it has ended.
void agent_command_cancel(Agent *a, TransientCommand **command);
