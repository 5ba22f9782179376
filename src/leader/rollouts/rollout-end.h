// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A rollout that somebody ends.

#include "batch-builder.h"
#include "dependencies.h"
#include "leader-core.h"

// One that is under way ends where it is. 0; ROLLOUT_IN_CYCLE: it cannot, as the new content of a unit on
// every node would close a cycle of order, and goes back; -EBUSY: in the next batch; -ENOMEM.
int rollout_stop(Leader *l, BatchBuilder *b, Dependencies *planned, const Argosy__RolloutRecord *r,
                 const char *reason);
