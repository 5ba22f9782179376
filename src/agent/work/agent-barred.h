// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that this host does not take for what may pass: it is looked for, and the leader hears when it has
// passed.

#include "agent-core.h"

enum {
        // of a host, those that were refused last; the others wait for the next request
        AGENT_BARRED_MAX = 1024,
        AGENT_BARRED_LOOK_US = 10 * 1000 * 1000, // from one look at them to the next
};

// The unit is refused: a place of its files is missing, or room for them.
void agent_barred_note(const AgentUnit *u);
// Refuses the unit for something else, that no look at places and room can see pass: that waits for a
// request.
void agent_barred_refuse(AgentUnit *u);
void agent_barred_turn(Agent *a);
uint64_t agent_barred_next_wake(const Agent *a); // boot time, 0: nobody waits
void agent_barred_drop(Agent *a);                // all of them
