// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether systemd stopped a unit for another one, or somebody did.

#include "agent-core.h"

// A job that is not ours has taken the unit down: systemd is asked for which unit, and the cause is noted
// then. False: nobody can be asked.
bool agent_stop_cause_ask(AgentUnit *u);
