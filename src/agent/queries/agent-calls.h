// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Questions about this host's units; what others see of it is in agent.h.

#include "agent-core.h"

void agent_calls_drop(Agent *a);
void agent_calls_drop_node(AgentNode *node); // they end with an error
void agent_local_units_drop(Agent *a);
