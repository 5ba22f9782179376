// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What made the networks that are on a node, and whether systemd has read that. See agent-network-made.c.

#include "agent-core.h"

// Its file is in place, with what was made beside it. Then: nobody needs the unit of that name any more.
void agent_network_made_written(const AgentUnit *u, const AgentMade *made);
void agent_network_made_gone(AgentNode *node, const char *unit);

// Whether it is to be asked, before the next start (PLAN_PLACES), if what makes them is its own, and if
// systemd has read that.
bool agent_network_made_is_unread(const AgentUnit *u);
void agent_network_made_read(AgentUnit *u);

void agent_network_made_forget(AgentNode *node);
