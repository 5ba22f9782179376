// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Shared by open-jobs.c (which units are waited for) and open-jobs-ends.c (when all is over, and what is written then).

#include "open-jobs.h"

// open-jobs.c
OpenJob *open_job_find(const Leader *l, uint64_t number); // NULL: it is not running
void open_job_free(Leader *l, OpenJob *job);
void open_job_notify(Leader *l, OpenJob *job); // it is further than it was

// open-jobs-ends.c
// Whether there is nothing but its units that it has to wait for; if there was, the job's end says what became of it.
bool open_job_is_over(Leader *l, OpenJob *job);
void open_job_end(Leader *l, OpenJob *job); // it is in no queue
void open_job_add_waiter(Leader *l, OpenJob *job, Ticket *t);
