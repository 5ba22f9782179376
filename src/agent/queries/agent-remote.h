// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Calls of the leader.

#include "agent-core.h"

void agent_on_call(Agent *a, const Argosy__ToHost__Call *call);
void agent_on_call_cancel(Agent *a, const Argosy__ToHost__CallCancel *cancel);
void agent_on_call_taken(Agent *a, const Argosy__ToHost__CallTaken *taken);
void agent_remote_calls_drop(Agent *a);
// Begins some of those that wait, if there is room for them.
void agent_remote_drain(Agent *a);
