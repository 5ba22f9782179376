// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Starts of this host whose process has still to live for a while (probation.h).

#include "agent-core.h"

// the job of its start has ended well, and what it made is known
void agent_probation_begin(AgentUnit *u);
void agent_probation_on_change(AgentUnit *u); // systemd says something of it
void agent_probation_end(AgentUnit *u);       // it is started or stopped by our hand, or has no such start
// Nobody can say any more what becomes of those of that node: their state will.
void agent_probation_on_disconnected(AgentNode *node);
// Those whose time is over and that are still up have passed; Agent.lived_ms says until when.
void agent_probation_pass(Agent *a);
// Boot time, microseconds; 0: none is under way.
uint64_t agent_probation_next_wake(const Agent *a);
