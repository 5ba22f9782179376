// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Jobs that are running, by the log: kept by who leads, until the log says how they ended.
//
//      begins       its JobPut was applied, or a leader's tables are made        open_jobs_on_applied(),
//                   _build_some()
//      runs         each of its units is looked at as a client's would be who    Unit.waiters,
//                   open_job_judge()
//                   waits for it
//      is watched   all of these have ended, and it has more to wait for         Leader.jobs_watched
//      has ended    it is to be written into the next entry                      Leader.jobs_ended
//      flies        it is in the entry that is on its way                        Leader.jobs_flying
//      is gone      the log has it; who waited for the job is answered           open_jobs_landed()
//
// One whose effect is its end (job_end_is_effect()) is watched while more of that is to come, and gone with
// the last of it.

#include "batch-builder.h"
#include "open-job.h"

enum {
        // units of a job of which it is told why they are not as they were to be
        JOB_ENDS_MAX = 1000,
        JOB_ENDS_BYTES_MAX = 128 * 1024,  // likewise, of all that is said
        JOB_RESUME_MS = 60 * 1000,        // that a new leader waits for the rest of a request that is not
                                          // whole
};

// An entry has brought something of jobs; its units are followed.
void open_jobs_on_applied(Leader *l);
// All jobs that are kept are looked at, some in each call. True: that were all.
void open_jobs_build_begin(Leader *l);
bool open_jobs_build_some(Leader *l);
// Everything about them is freed but what retired_tables_take() has taken.
void open_jobs_retire(Leader *l);
void open_job_discard(OpenJob *job); // as plain memory

// Something about its unit was seen or changed.
void open_job_judge(Leader *l, WaiterItem *item, const WaitSeen *seen);
// Whether those that are watched have ended; says to those who wait how far theirs are.
void open_jobs_turn(Leader *l);
uint64_t open_jobs_next_deadline(const Leader *l); // 0: none

// Puts those that have ended into the batch if it goes into the log anyhow, or if one has waited long
// enough. 0 or -ENOMEM.
int open_jobs_decide(Leader *l, BatchBuilder *b, bool goes_anyhow);
// No entry is on its way.
void open_jobs_landed(Leader *l, bool committed);
// Another chunk of its request goes into the batch: it has not ended. Whether it had, by what the log says;
// of one that the log keeps.
void open_job_goes_on(Leader *l, uint64_t number);
// Instead of what such a job was said to have ended with before.
#define JOB_END_RESUMED "what was missing of it was asked for again, and is carried out"

// For decide-cancel.c: whether a job of this number is running; whether it has ended and the log does not
// say so yet, which the next entry does then.
bool open_job_is_known(const Leader *l, uint64_t number);
bool open_job_has_ended(Leader *l, uint64_t number);
// The rollout that it has begun, if that is under way; NULL: it is not, or there is none.
const Argosy__RolloutRecord *open_job_rollout(const Leader *l, uint64_t number);

// For jobs/reverts.c: what a running job waits for of the unit; NULL: it does not wait for it.
JobItem *open_job_item(const OpenJob *job, const Unit *u);
// Whether that is still to be done, judged now; false: it is none of those any more.
bool open_job_item_reverts(Leader *l, JobItem *item);
// It cannot be done: its unit has failed as it is.
void open_job_item_keep(Leader *l, JobItem *item);

int job_waiter_start(Leader *l, PendingRequest *t);
