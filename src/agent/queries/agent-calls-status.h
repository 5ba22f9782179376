// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Questions about the status of units.

#include "call.h"

int call_start_status(Agent *a, uint64_t asker, AgentNode *node, const Argosy__Request__Status *q,
                      AgentReply reply, void *userdata, uint64_t *ret);
void agent_local_units_drop(Agent *a);
