// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units, of argosy or not, that systemd stops with one that is stopped for new content: they come back after
// it. What plan.h calls dependents.

#include "agent-core.h"
#include "plan.h"

// ---- a unit that takes others along

// Answers PLAN_SURVEY; `userdata` is an AgentStepCall.
void agent_on_surveyed(int error, const SystemdDependent *list, size_t n, void *userdata);
// Before something else is stopped for the unit's sake: what goes down with that comes back after the unit,
// which it does not need.
void agent_returns_take(AgentUnit *u, const SystemdDependent *list, size_t n);
// Carries out PLAN_BRING_BACK, which ends when all that can come back now have done so, or failed to.
void agent_returns_begin(AgentUnit *u);
// Ends that step: what has not come back yet is started once more when the unit is up again.
void agent_returns_leave_off(AgentUnit *u);
// The unit that it was stopped with, and comes back after; NULL: it is not such a one.
const char *agent_returns_with(const AgentUnit *u);
// Whether units were stopped with it that do not need it to start again.
bool agent_returns_anyway(const AgentUnit *u);
// It did not start: adds what that leaves down to the reason, and reports it.
void agent_returns_given_up(const AgentUnit *u, char text[static AGENT_ERROR_MAX]);

// ---- a unit that comes back

// Whether the unit that it was stopped with is between its stop and its start.
bool agent_returns_held_back(const AgentUnit *u);

// ---- both

// Before a unit is planned: who is to stop, or to go, brings nothing back and does not come back.
void agent_returns_ordered(AgentUnit *u, const PlanWanted *wanted);
// After that.
void agent_returns_planned(AgentUnit *u);

// ---- the record

int agent_returns_adopt(AgentNode *node, const LedgerReturn *back);
void agent_returns_adopted(AgentNode *node); // all units are known now
int agent_returns_put_all(Ledger *l, AgentNode *node);
void agent_returns_done(AgentNode *node);
