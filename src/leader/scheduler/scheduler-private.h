// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What rounds and rebalances need of scheduler.c.

#include "scheduler-tables.h"
#include "scheduler.h"

// So many nodes were found since then, unless it is only said what would be.
void scheduler_note_placements(const Scheduler *p, size_t n, uint64_t began_us);
// The unit is again as its record is when the Scheduler is freed.
void scheduler_touch(Scheduler *p, const char *name);
