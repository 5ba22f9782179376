// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Carries out rebalance.h's moves when an owner asks.

#include "batch-builder.h"
#include "leader-core.h"
#include "scheduler.h"

// Of what its job is made: its moves are one, however many entries of the log they are. Owned by the rebalance.
typedef struct RebalanceJob {
        Argosy__Request *request;
        Argosy__Author *author;
        uint64_t number; // 0: no move of it is in the log
        uint64_t flying; // in the entry that is on its way; 0: nothing of it is
} RebalanceJob;

void rebalance_clear(Leader *l);
void rebalance_abort(Leader *l); // that is under way: nothing more is moved
bool rebalance_is_aborted(const Leader *l);
RebalanceJob *rebalance_job(Leader *l); // NULL: none is under way
// No entry is on its way: if it was committed, whoever waits for the rebalance is told the number.
void rebalance_job_landed(Leader *l, bool committed);
int rebalance_decide(Leader *l, BatchBuilder *b, Scheduler **scheduler);
// Goes on with the answer to who asks what one would do; needs no batch.
void rebalance_answer(Leader *l, Scheduler **scheduler);
// Returns what Handler.plan does; it puts nothing into the batch.
int rebalance_request(Leader *l, Ticket *t, BatchBuilder *b);
void rebalance_forget(Leader *l, const Ticket *t); // who asked is not to be answered any more
void rebalance_notify(Leader *l);
