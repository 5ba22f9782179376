// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a unit is to be from now on.

#include "agent-core.h"

// The order becomes the unit's: 0 or -ENOMEM. Owns `spec` if it succeeds.
int agent_unit_want(AgentUnit *u, const PlanWanted *wanted, AgentSpec *spec, bool from_template);
int agent_unit_want_gone(AgentUnit *u, uint64_t revision); // it is to be removed
int agent_unit_unwant(AgentUnit *u); // it is to be removed, if it is not yet: 0 or -ENOMEM
