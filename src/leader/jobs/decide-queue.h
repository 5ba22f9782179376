// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the queue makes of a request when its turn has come.

#include "decision.h"

// Whether a request that may be planned is held back. STEP_PASSED: it is not; QUEUE_HOLDS: its job is in the
// batch, without any effect; QUEUE_PUT_BACK: its job is held as it was, and the pending request is gone;
// PLAN_SETTLED: it was answered, or is judged in a later turn; -EBUSY: next batch; -ENOMEM.
enum { QUEUE_HOLDS = 2, QUEUE_PUT_BACK = 3 };
int decide_queue_admit(Decision *d, PendingRequest *t);
// What is said to who asks for it again. NULL: out of memory.
Argosy__Response *decide_queue_held_response(const Leader *l, uint64_t job);
