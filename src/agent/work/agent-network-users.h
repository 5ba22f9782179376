// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who has the networks of a unit's wanted content, before anything stops. See agent-network-users.c.

#include "agent-core.h"

// Whether they are to be looked at before the wanted content is written (PLAN_FETCH).
bool agent_network_users_is_due(const AgentUnit *u);
// The step has begun, and ends when they are known, or with the reason why one stays as it is.
void agent_network_users_see(AgentUnit *u);
