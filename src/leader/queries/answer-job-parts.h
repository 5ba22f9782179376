// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What of a content a job changed, by parts (content-difference.h): private to answer-jobs.c.

#include "leader-core.h"

typedef struct JobParts {
        const Leader *leader;
        const Argosy__JobUnits *group; // private: whose parts these are
        Argosy__Response__Parts *parts; // private; NULL: there are none, or it is not known
        size_t n_bytes; // of contents that were compared
} JobParts;

void job_parts_done(JobParts *p);
// Into the row of a unit of that group, if its contents before and after are kept and one of them has other
// parts than the unit file. What is beyond JOB_PARTS_BYTES is not compared. 0 or -ENOMEM.
int job_parts_fill(JobParts *p, const Argosy__JobUnits *group, Argosy__Response__JobUnitRow *row);
