// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What was asked for and the log has: Handler.answer of ListJobs, see handlers.h.

#include "leader-core.h"

// The author of jobs that the cluster did by itself.
#define JOB_OWN_AUTHOR "cluster"

// Handler.refuse: what it would take long to compare.
Argosy__Response *answer_jobs_refuse(const Argosy__Request *request);
Argosy__Response *answer_jobs(Leader *l, const Argosy__Author *author, const Argosy__Request *request);
// The same, but the units that take long are left over for `later`; NULL: none are.
struct JobLooks;
Argosy__Response *answer_jobs_with(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                                   struct JobLooks *later);
// To a question about a job that is not kept.
Argosy__Response *answer_no_such_job(const Leader *l, uint64_t number);
// One job without its units but those that are not as they were to be; or why there is none, or none for
// whom this is. NULL: out of memory.
Argosy__Response *answer_job(Leader *l, const Argosy__Author *author, uint64_t number);
// The same, as the log has it: an end that only this leader knows yet is not told.
Argosy__Response *answer_job_of_log(const Leader *l, const Argosy__Author *author, uint64_t number);
// The same of one that the log has forgotten with its end: of that, its number and its verb, which is all
// that is known.
Argosy__Response *answer_job_end(Leader *l, const Argosy__Author *author, const Argosy__JobRecord *end);
// All of it but its units. 0 or -ENOMEM.
int job_fill_row(Argosy__Response__JobRow *row, const Argosy__JobRecord *job);
