// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What units use, page by page, while somebody looks.

#include "agent-core.h"

int agent_usage_start(Agent *a, AgentNode *node, const Argosy__Request__Top *q, AgentReply reply,
                      void *userdata, uint64_t *ret);
bool agent_usage_cancel(Agent *a, uint64_t number); // false: no query has that number
void agent_usage_drop(Agent *a);
void agent_usage_drop_node(AgentNode *node); // they end with an error
// Only what is known; `unit` is borrowed.
void agent_fill_usage(const UnitUsage *sample, const char *unit, Argosy__Response__UsageRow *row);
