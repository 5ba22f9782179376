// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Orders wait here until the fence that they raise is on the disk.

#include "agent-core.h"

void agent_on_orders(Agent *a, const Argosy__ToHost *message);
// The next message whose fence is on the disk, NULL: none. The caller frees it.
Argosy__ToHost *agent_fence_take(Agent *a);
void agent_fence_drain(Agent *a);
void agent_fence_drop(Agent *a);
