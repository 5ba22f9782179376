// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Services of this host that systemd restarts for their failures (restart-loop.h).

#include "agent-core.h"

// Kept from the first restart after a failure until there was none for long enough.
struct AgentLoop {
        RestartLoop loop;
        ListNode node; // in Agent.loops, in the order of their last one
        AgentUnit *unit;
};

void agent_loop_on_change(AgentUnit *u); // systemd says something of it
void agent_loop_free(AgentUnit *u);
bool agent_unit_is_looping(const AgentUnit *u);
void agent_loops_expire(Agent *a, uint64_t now_us);
uint64_t agent_loops_next_wake(const Agent *a); // boot time, microseconds; 0: never
