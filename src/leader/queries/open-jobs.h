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

#include "author-jobs.h"
#include "batch-builder.h"
#include "job-end.h"
#include "leader-core.h"
#include "waiters.h"

enum {
        // units of a job of which it is told why they are not as they were to be
        JOB_ENDS_MAX = 1000,
        JOB_ENDS_BYTES_MAX = 128 * 1024,  // likewise, of all that is said
        JOB_RESUME_MS = 60 * 1000,        // that a new leader waits for the rest of a request that is not
                                          // whole
};

typedef struct OpenJob OpenJob;

typedef struct JobItem {
        WaiterItem wait; // has no waiter
        OpenJob *job;
        Argosy__Verb verb;
        // in OpenJob.reverting: its unit did not start, and is to have its former content again
        ListNode reverting;
        char *why;          // what came of that start
        char *where;        // "UNIT on NODE"
} JobItem;

// The results of one log entry of a job.
typedef struct JobPart {
        struct JobPart *next;
        size_t n;
        JobItem items[];
} JobPart;

struct OpenJob {
        uint64_t number;
        // in Leader.jobs_watched, .jobs_ended or .jobs_flying; unlinked: units of it are waited for
        ListNode queue;
        ListNode told;  // in Leader.jobs_told: who waits for it is to hear how far it is
        ListNode tickets; // Ticket.in[TICKET_WAIT] of those
        ListNode reverting;  // JobItem.reverting
        ListNode reverts;    // in Leader.jobs_reverting, while it may have such
        JobPart *parts;
        size_t n_open; // items that have not ended
        JobCounts counts;
        size_t n_bytes;           // of what is said of units
        Argosy__JobRecord end;    // number and what is known of its end
        char verb[32];            // as its record has it
        size_t tally;             // its row in Leader.tallies.jobs
        bool end_tallied;         // its end is counted there, and it is none of those that run
        AuthorJobs *author;       // NULL: it has ended, or nobody has said whose it is
        uint32_t limited_by;      // rule of the queue that counts it; 0: none
        uint32_t n_refused;       // units that were, as it came to be; they count as failed
        bool cut;                 // it has units that its record does not name
        bool resumed;             // the log said that it had ended, and then its client came again
        char *rollout;            // "": it has begun none
        uint64_t revision_before, revision; // between these is that of its rollout
        uint64_t *cancelled_by;   // jobs that have called off what had not begun of it
        size_t n_cancelled_by;
        uint32_t *drains;         // nodes
        size_t n_drains;
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
// Another part of its request goes into the batch: it has not ended. Whether it had, by what the log says;
// of one that the log keeps.
void open_job_goes_on(Leader *l, uint64_t number);
bool open_job_is_resumed(const Leader *l, uint64_t number);
// Instead of what such a job was said to have ended with before.
#define JOB_END_RESUMED "what was missing of it was asked for again, and is carried out"

// For decide-cancel.c: whether a job of this number is running; whether it has ended and the log does not
// say so yet, which the next entry does then.
bool open_job_is_known(const Leader *l, uint64_t number);
bool open_job_has_ended(Leader *l, uint64_t number);
// How a job that is running by the log has ended: all who ask are told that at once, and the next entry says
// it to the log. NULL: it has not, or the log has it. Borrowed until the next turn.
const Argosy__JobRecord *open_job_end_known(const Leader *l, uint64_t number);
// What it still waits for of the unit; VERB_NONE: for nothing, it has ended.
Argosy__Verb open_job_awaits(const Leader *l, uint64_t number, const Unit *u);
// The rollout that it has begun, if that is under way; NULL: it is not, or there is none.
const Argosy__RolloutRecord *open_job_rollout(const Leader *l, uint64_t number);
bool open_job_is_cancelled_by(const Leader *l, uint64_t number, uint64_t by);

// For jobs/reverts.c: what a running job waits for of the unit; NULL: it does not wait for it.
JobItem *open_job_item(const OpenJob *job, const Unit *u);
// Whether that is still to be done, judged now; false: it is none of those any more.
bool open_job_item_reverts(Leader *l, JobItem *item);
// It cannot be done: its unit has failed as it is.
void open_job_item_keep(Leader *l, JobItem *item);

int job_waiter_start(Leader *l, Ticket *t);
// 0: it is not running.
uint32_t open_job_n_refused(const Leader *l, uint64_t number);
