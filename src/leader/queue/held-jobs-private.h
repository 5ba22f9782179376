// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Shared by held-jobs.c (what the log says of them, and how they end), held-limits.c (what they wait for in
// the queue, and what makes them due) and held-jobs-judge.c (those that are due are judged, and go).

#include "author-jobs.h"
#include "deadline-heap.h"
#include "held-jobs.h"

// Jobs that wait for one that has not ended; in a map by its number.
typedef struct HeldAwaited {
        uint64_t number;
        ListNode waiting; // HeldAfter.by_job
} HeldAwaited;

typedef struct HeldAfter {
        HeldJob *job;
        HeldAwaited *awaited; // NULL: it has ended
        ListNode by_job;
} HeldAfter;

typedef struct HeldLimit {
        uint32_t rule; // the map's key
        size_t n_running, n_admitted, n_going, n_waiting;
        size_t n_woken;   // due, since there is room
        ListNode waiting; // HeldJob.queue
} HeldLimit;

struct HeldJob {
        AuthorJobs *author; // NULL: nobody has said whose it is
        Leader *leader;
        uint64_t number;
        ListNode queue;
        Deadline due;              // its number is when
        ListNode pending_requests; // PendingRequest.in[PENDING_WAIT], of who waits for its end
        PendingRequest *pending;   // it goes
        HeldLimit *limit;          // it waits for, or for which it goes; NULL: none
        HeldLimit *woken;          // the limit whose room it may take: it is due; NULL: none
        // it is due, and is of so many units that it is judged in several turns; NULL: it is not
        Argosy__Request *request;
        QueueLook *look;   // how far that is
        QueueWatch *watch; // what rules have asked of its units, whatever holds it; NULL: nothing
        HeldJobVerdict why;
        uint32_t rule; // that holds it
        Argosy__JobRecord end;
        bool asks;    // it goes, and waits for what hosts say about images
        bool begun;   // the log has a chunk of it: it is counted with those that are running
        size_t tally; // its row in Leader.tallies.jobs
        size_t n_after;
        HeldAfter after[];
};

// held-jobs.c
bool held_job_has_begun(const Leader *l, const HeldJob *h);
void held_job_await(Leader *l, HeldJob *h, uint64_t number); // the end of that job, too
void held_job_stop_awaiting(Leader *l, HeldJob *h);
// It is judged, or will not be.
void held_job_forget_request(HeldJob *h);
// Its pending request is about to end.
void held_job_goes_no_more(HeldJob *h);
// Why it ends. A refusal says what it is about in the words of who has asked, which may be long.
void held_job_say(HeldJob *h, const char *why);
// It is over without having begun, which is to be written.
void held_job_end(Leader *l, HeldJob *h, Argosy__JobState state, const char *why);

// held-limits.c
const Argosy__QueueRule *held_rule_find(const Leader *l, uint32_t number); // NULL: there is none
HeldLimit *held_limit_get(Leader *l, uint32_t rule);
void held_limit_wait(HeldJob *h, HeldLimit *limit);
void held_limit_wake(Leader *l, HeldLimit *limit); // as many as there is room for
void held_limits_on_rules(Leader *l);              // the rules of the queue are other ones
// It stands nowhere any more. What it has not taken of its limit is for the next.
void held_job_leave(HeldJob *h);
// It has had its turn. What it has not taken is for the next.
void held_job_give_up_room(HeldJob *h);
void held_job_make_due(Leader *l, HeldJob *h);
void held_job_stay_due(Leader *l, HeldJob *h);
