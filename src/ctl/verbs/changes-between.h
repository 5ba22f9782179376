// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What jobs have changed together, asked of the cluster.

#include "job-changes.h"

typedef struct Ctl Ctl;

// job_changes_begin(), and all that follows. `ret` is zero-initialised, and is to be ended in any case.
// Prints what is wrong or missing, and returns an exit code.
int changes_between(Ctl *ctl, char *unit, uint64_t since, uint64_t until, JobChanges *ret);
