// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Carries out rebalance.h's moves when an owner asks.

#include "batch-builder.h"
#include "leader-core.h"
#include "scheduler.h"

void rebalance_clear(Leader *l);
int rebalance_decide(Leader *l, BatchBuilder *b, Scheduler **scheduler);
// Goes on with the answer to who asks what one would do; needs no batch.
void rebalance_answer(Leader *l, Scheduler **scheduler);
// Returns what Handler.plan does; it puts nothing into the batch.
int rebalance_request(Leader *l, Ticket *t, BatchBuilder *b);
void rebalance_forget(Leader *l, const Ticket *t); // who asked is not to be answered any more
void rebalance_notify(Leader *l);
