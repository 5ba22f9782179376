// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the leader is told of units.

#include "agent-core.h"

void agent_report_wake(Agent *a, uint64_t now_us);
uint64_t agent_report_next_wake(Agent *a);
// Until when the leader was told all that was seen; 0: not known.
uint64_t agent_report_sent_us(const Agent *a, uint64_t now_us);
void agent_report_drain(Agent *a); // what one turn has time for
void agent_report_all(Agent *a);   // before the last words
// For Attach: all units that are held are to be told, and what was to be reported of them with that.
void agent_held_begin(Agent *a);
// The next of them (ATTACH_HELD_MAX) to `send`, which says whether they have gone. `last`: there are no
// more.
typedef int (*AgentHeldSend)(Agent *a, Argosy__UnitReport **held, size_t n, bool last);
int agent_held_send(Agent *a, AgentHeldSend send);
