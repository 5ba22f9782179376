// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Containers of others that are called as a unit's container would be. See agent-container-names.c.

#include "agent-core.h"

// Whether it is to be looked for such a one before the wanted content is written (PLAN_FETCH), or before the
// unit is started (PLAN_PLACES).
bool agent_container_names_is_due(const AgentUnit *u);
bool agent_container_names_is_unseen(const AgentUnit *u);
// The step has begun, and ends with the look.
void agent_container_names_fetch(AgentUnit *u);
void agent_container_names_see(AgentUnit *u);

// Of a plan: whether the unit of that name and content could not be started here, since that would replace
// a container of somebody else's. 1: `done` fires once, from the loop or as the agent closes, with the
// reason, or with NULL: it could, or podman does not say. 0: it could, or nobody knows. Or -ENOMEM.
typedef void (*ContainerNameSaid)(const char *why, void *userdata);
int agent_container_names_ask(Agent *a, const char *unit, const void *content, size_t len,
                              ContainerNameSaid done, void *userdata);
