// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests as jobs: known again, and written beside what they do.

#include "decision.h"
#include "handler-log.h"

// Whether a request of the queue may be planned: STEP_PASSED; PLAN_SETTLED; -EBUSY: next batch; -ENOMEM.
int decide_job_admit(Decision *d, PendingRequest *t, const HandlerLog *log);
// It is in the batch, behind the mark, and so is its job then; also if nothing is, and its job is open
// (request_has_open_job()). 0 or -ENOMEM.
int decide_job_put(Decision *d, PendingRequest *t, BatchBuilderMark mark);
// It is held back: its job is in the batch, without any effect, and with what is stored of it. 0 or -ENOMEM.
int decide_job_hold(Decision *d, PendingRequest *t, Argosy__StoredRequest *stored);
// The same of moves of the rebalance that is under way, or of its end; if there is something to be said of
// it.
int decide_job_put_rebalance(Decision *d, BatchBuilderMark mark);
// The same for a step of a rollout, if the job that began it is kept. `userdata` is the Decision.
int decide_job_put_rollout(const Argosy__RolloutRecord *r, BatchBuilderMark mark, void *userdata);
