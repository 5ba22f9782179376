// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Carries out rebalance.h's moves when an owner asks.

#include "batch-builder.h"
#include "leader-core.h"
#include "scheduler.h"

void rebalance_clear(Leader *l);
int rebalance_decide(Leader *l, BatchBuilder *b, Scheduler **scheduler);
// Returns what Handler.plan does.
int rebalance_request(Leader *l, Ticket *t, Scheduler **scheduler);
void rebalance_tell(Leader *l);
