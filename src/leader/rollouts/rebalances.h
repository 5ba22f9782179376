// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Carries out rebalance.h's moves when an owner asks, as a job (RebalanceJob in queue-subject.h): all of its
// moves are one, however many entries of the log they are.

#include "batch-builder.h"
#include "leader-core.h"
#include "scheduler.h"

void rebalance_on_time(Leader *l);
void rebalance_retire(Leader *l);
void rebalance_abort(Leader *l); // that is under way: nothing more is moved
bool rebalance_is_aborted(const Leader *l);
// No entry is on its way: if it was committed, waiters for the rebalance are told the job's number.
void rebalance_job_landed(Leader *l, bool committed);
int rebalance_decide(Leader *l, BatchBuilder *b, Scheduler **scheduler);
// Goes on with the answer to who asks what one would do; needs no batch.
void rebalance_answer(Leader *l, Scheduler **scheduler);
Argosy__Response *rebalance_refuse(const Argosy__Request *request); // as Handler.refuse
// Returns what Handler.plan does; but for --abort it puts nothing into the batch.
int rebalance_request(Leader *l, PendingRequest *t, BatchBuilder *b);
void rebalance_notify(Leader *l);
