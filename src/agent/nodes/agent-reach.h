// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The connections to managers that are not the system's, and why one cannot be used.

#include "agent-core.h"

int agent_reach_open(void *node);  // for SystemdConfig.open_socket
void agent_reach(AgentNode *node); // tries, if it is time to
void agent_reach_synced(AgentNode *node);
void agent_reach_lost(AgentNode *node, const char *why);
// A unit of the system's manager changed: perhaps the one that runs a manager of ours.
void agent_reach_on_unit(Agent *a, const char *name);
void agent_reach_close(AgentNode *node);
int agent_reach_watch_gate(AgentNode *node);
// The node's, and if it is the system's, everybody's.
void agent_reach_unwatch_gates(AgentNode *closing);
void agent_node_set_reason(AgentNode *node, const char *reason); // NULL: it can be used
void agent_node_reports_drain(Agent *a);
// All that cannot be used, for Attach; `list` has room for n_nodes, what it points to is in `reports`.
size_t agent_node_reports(Agent *a, bool only_news, Argosy__NodeReport *reports, Argosy__NodeReport **list);
