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
// All held units, for Attach. Freed with agent_reports_free().
int agent_reports_held(Agent *a, Argosy__UnitReport ***ret, size_t *ret_n);
void agent_reports_free(Argosy__UnitReport **reports, size_t n);
