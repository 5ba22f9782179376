// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a host takes its leave of the leader.

#include "agent-core.h"

void agent_say_stopping(Agent *a);
// The look before a Goodbye: the node's state is complete, or its systemd is out of reach.
void agent_goodbye_on_looked(AgentNode *node);
void agent_goodbye_drain(Agent *a);
