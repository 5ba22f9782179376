// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Questions to this host's nodes; what others see of it is in agent.h.

#include "agent-core.h"

void agent_calls_drop(Agent *a);
void agent_calls_drop_node(AgentNode *node); // they end with an error
