// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// When a job may begin. Pure: one rule for a request that has just come, and for a job that is held back
// already.
//
//      refused    by a rule of the queue: a request that has come at once, one that is held when it could
//                 begin
//      over       a job that it waits for has ended, and not `done`
//      by hand    somebody has asked that it be held, until somebody releases it
//      after      a job that it waits for has not ended
//      closed     the queue is
//      rule       a rule of the queue holds it, until that is gone, or somebody releases it who may change
//                 the rules
//      limit      as many jobs of its rule run as may
//      behind     an update, or for a rebalance another one, is under way that it cannot be done beside, and
//                 who asked would
//                 rather wait than be refused
//      goes       nothing of that

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"

typedef struct HeldJobFacts {
        bool is_new; // a request that has just come
        bool by_hand;
        size_t n_open;     // jobs that it waits for and that have not ended
        bool after_failed; // one has ended, and is not done
        bool past_rules; // released by an author that may change the rules, or no rules apply
        bool closed;
        Argosy__QueueAction action; // of the rule that it matches; ACCEPT, too, if there is none
        bool limit_full;
        bool is_behind; // it would be refused for what is under way, and is to wait instead
} HeldJobFacts;

typedef enum HeldJobVerdict {
        HELD_JOB_GOES,
        HELD_JOB_BY_HAND,
        HELD_JOB_AFTER,
        HELD_JOB_CLOSED,
        HELD_JOB_RULE,
        HELD_JOB_LIMIT,
        HELD_JOB_BEHIND,
        HELD_JOB_REFUSED,
        HELD_JOB_OVER,
} HeldJobVerdict;

HeldJobVerdict held_job_judge(const HeldJobFacts *f);
// What becomes of who waits for a job in that state.
typedef enum HeldJobAfter { HELD_AFTER_DONE, HELD_AFTER_OPEN, HELD_AFTER_FAILED } HeldJobAfter;
HeldJobAfter held_job_after(Argosy__JobState state);
