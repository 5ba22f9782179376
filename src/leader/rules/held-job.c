// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rule by which jobs are held back. Options of one job come before rules for all: a job with --hold
// waits for its release, whatever the queue would say. A closed queue holds also what a rule accepts. No
// right lets a job begin beside what it cannot be done beside. A job whose end is not known does not count
// as done.

#include "held-job.h"

static HeldJobVerdict judge_by_rules(const HeldJobFacts *f) {
        if (f->past_rules)
                return HELD_JOB_GOES;
        if (f->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE)
                return HELD_JOB_REFUSED;
        if (f->closed)
                return HELD_JOB_CLOSED;
        if (f->action == ARGOSY__QUEUE_ACTION__QUEUE_HOLD)
                return HELD_JOB_RULE;
        return f->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT && f->limit_full ? HELD_JOB_LIMIT
                                                                               : HELD_JOB_GOES;
}

HeldJobVerdict held_job_judge(const HeldJobFacts *f) {
        HeldJobVerdict by_rules = judge_by_rules(f);

        if (f->is_new && by_rules == HELD_JOB_REFUSED)
                return HELD_JOB_REFUSED;
        if (f->after_failed)
                return HELD_JOB_OVER;
        if (f->by_hand)
                return HELD_JOB_BY_HAND;
        if (f->n_open > 0)
                return HELD_JOB_AFTER;
        return by_rules == HELD_JOB_GOES && f->is_behind ? HELD_JOB_BEHIND : by_rules;
}

HeldJobAfter held_job_after(Argosy__JobState state) {
        switch (state) {
        case ARGOSY__JOB_STATE__JOB_DONE:
                return HELD_AFTER_DONE;
        case ARGOSY__JOB_STATE__JOB_RUNNING:
        case ARGOSY__JOB_STATE__JOB_HELD:
                return HELD_AFTER_OPEN;
        default:
                return HELD_AFTER_FAILED;
        }
}
