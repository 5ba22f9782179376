// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a host takes its leave of the leader.

#include "agent-core.h"

// what was not told yet of a shutdown that has begun, or goes no further
void agent_stopping_drain(Agent *a);
void agent_goodbye_drain(Agent *a);
