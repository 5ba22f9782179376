// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A job that is running, and what can be asked of one by its number. What becomes of it is in open-jobs.h.

#include "author-jobs.h"
#include "job-end.h"
#include "leader-core.h"
#include "waiters.h"

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
typedef struct JobChunk {
        struct JobChunk *next;
        size_t n;
        JobItem items[];
} JobChunk;

struct OpenJob {
        uint64_t number;
        // in Leader.jobs_watched, .jobs_ended or .jobs_flying; unlinked: units of it are waited for
        ListNode queue;
        ListNode reported;  // in Leader.jobs_reported: who waits for it is to hear how far it is
        ListNode pending_requests; // PendingRequest.in[PENDING_WAIT] of those
        ListNode reverting;  // JobItem.reverting
        ListNode reverts;    // in Leader.jobs_reverting, while it may have such
        JobChunk *parts;
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

OpenJob *open_job_find(const Leader *l, uint64_t number); // NULL: it is not running
bool open_job_is_resumed(const Leader *l, uint64_t number);
// How a job that is running by the log has ended: all who ask are told that at once, and the next entry says
// it to the log. NULL: it has not, or the log has it. Borrowed until the next turn.
const Argosy__JobRecord *open_job_end_known(const Leader *l, uint64_t number);
// What it still waits for of the unit; VERB_NONE: for nothing, it has ended.
Argosy__Verb open_job_awaits(const Leader *l, uint64_t number, const Unit *u);
bool open_job_is_cancelled_by(const Leader *l, uint64_t number, uint64_t by);
// 0: it is not running.
uint32_t open_job_n_refused(const Leader *l, uint64_t number);
bool open_job_was_cancelled_by(const OpenJob *job, uint64_t by);
