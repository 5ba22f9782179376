// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What was ordered together is there together.

#include "agent-core.h"

void agent_start_barrier_ordered(AgentUnit *u);
void agent_start_barrier_planned(AgentUnit *u);
// Whether the start of this unit has to wait for files that were ordered with it, or for its socket; then it
// is planned again when it need not any more.
bool agent_start_barrier_hold_back(AgentUnit *u);
void agent_start_barrier_release(AgentNode *node);
