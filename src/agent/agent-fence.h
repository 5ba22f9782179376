// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Orders wait here until the fence that they raise is on the disk.

#include "agent-core.h"

void agent_on_orders(Agent *a, const Argosy__ToHost *message);
void agent_fence_drain(Agent *a);
void agent_fence_drop(Agent *a);
