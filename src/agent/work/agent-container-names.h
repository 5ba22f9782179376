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
