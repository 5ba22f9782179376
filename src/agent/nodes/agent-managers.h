// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Managers of users and containers that come and go; what others see of it is in agent.h.

#include "agent-core.h"

void agent_managers_drain(Agent *a);
