// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this host's systemd runs from the directory of fleet, for the leader (fleet-units.h).

#include "agent-core.h"
#include "fleet-units.h"

// One of the system's units has changed, perhaps one of these.
void agent_fleet_on_unit(Agent *a, const char *name);
// Searches, if that is due and nobody does.
void agent_fleet_drain(Agent *a);
// The first search has ended, so an Attach can name what there is.
bool agent_fleet_is_known(const Agent *a);
// It takes too long: the leader is told now that it is not known, and what there is afterwards.
bool agent_fleet_is_late(const Agent *a, uint64_t now_us);
// For the leader: *ret_names to be freed, what it points to is borrowed. False: there is nothing to say.
bool agent_fleet_report(Agent *a, Argosy__FleetUnits *ret, char ***ret_names);
void agent_fleet_report_drain(Agent *a);
void agent_fleet_done(AgentNode *system); // before its connection goes
