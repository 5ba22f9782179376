// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Networks that containers share on this host, and how one is made anew. See agent-networks.c.

#include "agent-core.h"

// Whether they are to be looked at before the wanted content is written (PLAN_FETCH).
bool agent_networks_is_due(const AgentUnit *u);
// The step has begun, and ends when they are known, or with the reason why one stays as it is.
void agent_networks_see(AgentUnit *u);

// Carries out PLAN_NETWORKS, a part of it each time; the ledger is written before each.
void agent_networks_begin(AgentUnit *u);
// The write has ended, or the unit goes another way: others may make theirs anew.
void agent_networks_release(AgentUnit *u);
// A network is there that another file made: the unit is not written before that is gone.
void agent_networks_in_way(AgentUnit *u);

// Its file is in place, with what was made beside it. Then: nobody needs the unit of that name any more.
void agent_networks_written(const AgentUnit *u, const Buf *made);
void agent_networks_gone(AgentNode *node, const char *unit);

// Whether it is to be asked, before the next start (PLAN_PLACES), if what makes them is its own, and if
// systemd has read that.
bool agent_networks_is_unread(const AgentUnit *u);
void agent_networks_read(AgentUnit *u);

void agent_networks_forget(AgentNode *node);
void agent_networks_drop(Agent *a);
