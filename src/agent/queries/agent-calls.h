// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Questions to this host's nodes; what others see of it is in agent.h.

#include "agent-core.h"

void agent_calls_drop(Agent *a);
void agent_calls_drop_node(AgentNode *node); // they end with an error
void agent_local_units_drop(Agent *a);
// The journals that are being read, and those of them whose readers wait until their lines are taken.
void agent_calls_count(const Agent *a, AgentStats *ret);
