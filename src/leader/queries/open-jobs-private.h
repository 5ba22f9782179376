// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Shared by open-jobs.c (which units are waited for), open-jobs-build.c (those that a leader finds when it
// begins) and open-jobs-ends.c (when all is over, and what is written then).

#include "map.h"
#include "open-jobs.h"

// open-jobs.c
void open_job_free(Leader *l, OpenJob *job);
void open_job_notify(Leader *l, OpenJob *job); // it is further than it was
// What the log has of a job that is running is followed: first what its record says of the job itself
// (`job` NULL: it is made), then units, of all parts that are followed now, and that these were all. Earlier
// jobs of these units are overtaken.
OpenJob *open_job_begin(Leader *l, OpenJob *job, uint64_t number, const Argosy__JobRecord *record);
void open_job_overtake_others(Leader *l, uint64_t number, const Argosy__JobRecord *record);
// of RemovedUnit
void open_job_add_chunk(Leader *l, OpenJob *job, const Argosy__JobRecord *record, const Map *removed);
void open_job_begun(Leader *l, OpenJob *job);
size_t open_job_count_units(const Argosy__JobRecord *record);

// open-jobs-build.c
typedef struct RemovedUnit {
        uint64_t by; // number of the job
        char name[];
} RemovedUnit;

// Units that those jobs have removed which have called one job off, as their records say. What these have no
// room for is not in it. Zero-initialised.
typedef struct RemovedUnits {
        Map units;       // RemovedUnit by name
        size_t at, from; // of OpenJob.cancelled_by, and in what is packed of that one: what is looked at
                         // next
} RemovedUnits;

// how many units were looked at; 0: there are no more
size_t open_job_note_removed(const Leader *l, const OpenJob *job, RemovedUnits *r);
void removed_units_done(RemovedUnits *r);
void open_jobs_build_end(Leader *l); // it leads no more

// open-jobs-ends.c
// Whether there is nothing but its units that it has to wait for; if there was, the job's end says what
// became of it.
bool open_job_is_over(Leader *l, OpenJob *job);
void open_job_end(Leader *l, OpenJob *job); // it is in no queue
void open_job_add_waiter(Leader *l, OpenJob *job, PendingRequest *t);
