// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What of a content a job changed, by chunks (content-difference.h): private to answer-jobs.c.

#include "leader-core.h"

typedef struct JobChunks {
        const Leader *leader;
        const Argosy__JobUnits *group; // private: whose chunks these are
        Argosy__Response__Parts *parts; // private; NULL: there are none, or it is not known
        size_t n_bytes; // of contents that were compared
} JobChunks;

void job_chunks_done(JobChunks *p);
// Into the row of a unit of that group, if its contents before and after are kept and one of them has other
// chunks than the unit file. What is beyond JOB_CHUNK_BYTES is not compared. 0 or -ENOMEM.
int job_chunks_fill(JobChunks *p, const Argosy__JobUnits *group, Argosy__Response__JobUnitRow *row);
