// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units as the ledger and the leader's orders want them.

#include "agent-core.h"

int agent_unit_unwant(AgentUnit *u); // it is to be removed, if it is not yet: 0 or -ENOMEM
int agent_node_adopt(AgentNode *node, const char *ledger_path);
// Takes the orders over. Those that name a spec nobody sent make the agent attach again.
void agent_obey(Agent *a, const Argosy__ToHost *message);
