// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Why a unit is down, as the agent keeps and reports it.

#include "agent-core.h"

// `by`: the unit for which systemd has stopped it; NULL: none, or not known. It is in the ledger, but for
// `by`: nobody else will know it when argosyd comes back.
void agent_unit_set_down(AgentUnit *u, Argosy__DownCause down, const char *by);
// It runs again, or is forgotten.
void agent_unit_forget_down_by(AgentUnit *u);
// That unit, or what the unit is skipped for; "" if there is nothing to say.
const char *agent_unit_down_by(const AgentUnit *u);
