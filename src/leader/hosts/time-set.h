// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// `cluster set-time`: the only thing by which the log's time goes back.

#include "batch-builder.h"
#include "leader-core.h"

// As handlers.h has it: PLAN_IN_BATCH, 0 (it is settled), or an error of the batch.
int time_set_plan(Leader *l, PendingRequest *t, BatchBuilder *b);
