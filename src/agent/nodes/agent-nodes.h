// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The systemd managers of this host: opened, numbered and closed.

#include "agent-core.h"

int agent_node_open_system(Agent *a, const AgentConfig *config, char **ret_why);
// Forgets its units; nothing is stopped or removed. Its memory goes when nothing uses it any more.
void agent_node_close(AgentNode *node);
// The leader has given (some of) them numbers.
void agent_nodes_number(Agent *a, Argosy__NodeRecord *const *records, size_t n);
AgentNode *agent_node_new(Agent *a, const char *manager);
int agent_node_open_systemd(AgentNode *node, const SystemdConfig *config);
// For a node whose units all are to go: forgets those that have gone, without waiting until the leader
// knows.
void agent_node_drop_gone(AgentNode *node);
