// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Rows of the units of one job: private to answer-jobs.c and job-show.c.

#include "leader-core.h"

typedef struct WaitSeen WaitSeen;

// A unit on thousands of nodes, of which its row does not say yet how it is now.
typedef struct JobLook {
        Argosy__Response__JobUnitRow *row;
        Argosy__Verb verb; // what somebody would wait for
} JobLook;

typedef struct JobLooks {
        JobLook *looks;
        size_t n, allocated;
} JobLooks;

// The unit as it was and became. NULL: out of memory.
Argosy__Response__JobUnitRow *job_add_change(Argosy__Response__JobRow *row, const Argosy__JobUnits *group,
                                             size_t i);
// limits.job_units_listed of them, from that one on. `later` gets those that take long; NULL: however long
// it takes. 0 or -ENOMEM.
int job_add_units(Leader *l, Argosy__Response__JobRow *row, const Argosy__JobRecord *job, uint32_t first,
                  JobLooks *later);
// Those that are not as they were to be. 0 or -ENOMEM.
int job_add_failed_units(Argosy__Response__JobRow *row, const Argosy__JobRecord *job);
// Says how it is now. `seen`: what was seen of it; NULL: nobody knows anything of it any more. 0 or -ENOMEM.
int job_unit_judge(const Leader *l, const JobLook *look, const WaitSeen *seen);
