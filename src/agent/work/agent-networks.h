// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a network that containers share on this host is made anew. See agent-networks.c.

#include "agent-core.h"

// Carries out PLAN_NETWORKS, a part of it each time; the ledger is written before each.
void agent_networks_begin(AgentUnit *u);
// The write has ended, or the unit goes another way: others may make theirs anew.
void agent_networks_release(AgentUnit *u);
// A network is there that another file made: the unit is not written before that is gone.
void agent_networks_in_way(AgentUnit *u);

void agent_networks_drop(Agent *a);
