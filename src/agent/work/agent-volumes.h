// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Volumes that are on this host already, which a container is about to use. See agent-volumes.c.

#include "agent-core.h"

// Whether they are to be looked at before the wanted content is written (PLAN_FETCH).
bool agent_volumes_is_due(const AgentUnit *u);
// The step has begun, and ends when they are known, or with the reason why one does not do.
void agent_volumes_see(AgentUnit *u);
