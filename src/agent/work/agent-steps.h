// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The next step of each unit that was marked, begun.

#include "agent-core.h"

// At most `max` units of it; the rest in the next turn.
void agent_node_plan(AgentNode *node, unsigned max);
void agent_node_wake(AgentNode *node, uint64_t now_us);
uint64_t agent_node_next_wake(const AgentNode *node);
