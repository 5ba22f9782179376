// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Jobs that are held back, as who leads keeps them; and how many jobs of a rule run at a time.
//
//      is held      the log has its request; it waits for a person (in no list), for jobs
//                   (Leader.held_awaited), for the queue to open (.held_closed), for the rules
//                   (.held_by_rules), for its limit (HeldLimit.waiting), for an update that it cannot be
//                   done beside (.held_behind)
//      is due       one of these may have come                              Leader.held_due
//      goes         its pending request (HeldJob.pending) is in the queue, as if it had just come
//      has begun    the log has a chunk of its effect; its pending request goes on until it has all of it
//      is over      it ends without having begun: to be written             Leader.held_over
//      is gone      the log has its effect, or its end                      held_jobs_on_news()

#include "batch-builder.h"
#include "held-verdict.h"
#include "leader-core.h"
#include "pending-requests.h"

typedef struct HeldJob HeldJob;

// The tables of a leader that begins, of all that the log has; and their end.
void held_jobs_build(Leader *l);
void held_jobs_retire(Leader *l);

// An entry has brought something of this job, which may be held, or be waited for. If it is held no more,
// since it has begun or is over: those who wait for its end, in *ret_pending
// (PendingRequest.in[PENDING_WAIT]).
void held_jobs_on_news(Leader *l, uint64_t number, ListNode *ret_pending);
// The rules of the queue may be other ones.
void held_jobs_on_applied(Leader *l);
// The rebalance that is under way has got the number of its job, or is over without one.
void held_jobs_on_rebalance(Leader *l);
// Judges some of those that are due; those that may go are in the queue of requests then.
void held_jobs_step(Leader *l);

// Whether such a request can be held; else its client is answered at once.
bool held_jobs_can_hold(const Argosy__Request *request);
// What holds a request that has come, or one of a job that is held, when its turn has come to be decided.
// *ret_rule: by which rule it is held or refused, or which counts it; NULL: none. False: of so many units
// that it is known in a later turn.
bool held_jobs_judge(Leader *l, PendingRequest *t, HeldJobVerdict *ret, const Argosy__QueueRule **ret_rule);
// It does not go after all, since somebody else came first. Ends the pending request.
void held_job_put_back(Leader *l, PendingRequest *t);
// Whether it waits for what hosts say about images: as long as it does, others go in its place. Of other
// requests nothing is noted.
void held_job_note_asking(const PendingRequest *t, bool asks);
uint64_t held_job_number(const HeldJob *h);
// Into the batch: the ends of those that are over. 0 or -ENOMEM.
int held_jobs_decide(Leader *l, BatchBuilder *b);

// Jobs that count for a rule: one is in the entry that is being made; has begun; has ended.
void held_limit_admit(Leader *l, uint32_t rule);
void held_limits_settle(
        Leader *l); // the entry is there, or was not taken: who was in it has begun, or has not
void held_limit_begin(Leader *l, uint32_t rule);
void held_limit_end(Leader *l, uint32_t rule);
size_t held_limit_running(const Leader *l, uint32_t rule);
// No more may begin. Jobs that wait for the limit, or may be about to, come before a new one; they go in
// their order.
bool held_limit_is_full(const Leader *l, const Argosy__QueueRule *rule, const Argosy__Request *request,
                        HeldMoment moment);

// It is to end by this entry, and does not begin by it. 0; -EBUSY: it has begun by it; -ENOMEM.
int held_job_claim(const Leader *l, BatchBuilder *b, uint64_t number);
// Whether the leader goes on by itself with a job that was held, and of which the log may have a chunk, now
// or when it is judged next. False: it was refused, or has ended.
bool held_job_goes_on(const Leader *l, uint64_t number);
// The log has a chunk of it and gets no more, as the rest was refused: why. Its end is written by
// open-jobs-ends.c. NULL: that is not so.
const char *held_job_rest_refused(const Leader *l, uint64_t number);
// The pending request is answered when the job ends. False: it is not held, or has begun.
bool held_job_wait(Leader *l, uint64_t number, PendingRequest *t);
// What holds it, for people; "": nothing, or nobody knows.
void held_job_phrase(const Leader *l, uint64_t number, char ret[HELD_WHY_SIZE]);
// Numbers of held jobs that wait for this one, smallest first, at most `max`. Returns how many.
size_t held_jobs_waiting(const Leader *l, uint64_t number, uint64_t *ret, size_t max);
// How many a rule holds.
size_t held_jobs_of_rule(const Leader *l, uint32_t rule);
