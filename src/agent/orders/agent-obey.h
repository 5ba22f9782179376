// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The leader's orders, taken over.

#include "agent-core.h"

// Takes the orders over. Those that name a spec nobody sent make the agent attach again.
void agent_obey(Agent *a, const Argosy__ToHost *message);
