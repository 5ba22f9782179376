// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether names would be taken on a node, for who only asks.

#include "agent-core.h"

// A call of the leader with names. Answered in any case, unless the agent has dropped it.
void agent_names_on_call(Agent *a, const Argosy__ToHost__Call *call);
// Begins with the next question to the node, if its unit directory is free.
void agent_names_start(AgentNode *node);
void agent_names_drop(Agent *a);             // their leader hears no more
void agent_names_drop_node(AgentNode *node); // those that have not begun are answered with an error
