// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Before a unit that runs is stopped for another content: what this host's systemd would say of that. And
// the unit that this host's podman makes of a container's content, before anything of that is recorded or
// written.

#include "unit-core.h"

enum { AGENT_VERIFY_MS = 5000 }; // then the unit goes on as if nobody could tell

// Its step PLAN_VERIFY begins. It ends from the loop, or before return if nobody can be asked.
void agent_verify(AgentUnit *u);
// Whether the wanted content is a container's that is to be written: it is not in place, and what runs
// does not run on because it was refused.
bool agent_verify_is_to_write(const AgentUnit *u);
// Whether the wanted content is a container's, of which no unit was made here yet that could be written
// (PLAN_FETCH).
bool agent_verify_makes(const AgentUnit *u);
// Begins that, likewise. A node that cannot make it refuses the unit; what runs goes on.
void agent_verify_make(AgentUnit *u);
// The wanted content is refused, and what runs goes on with the one that it has: that ends the step. `what`
// begins the unit's error, `why` ends it.
void agent_verify_run_on(AgentUnit *u, const char *what, const char *why);
// What is known of the wanted content.
PlanVerdict agent_verdict(const AgentUnit *u);
// The node goes: nothing is heard of its questions any more.
void agent_verify_drop(AgentNode *node);
