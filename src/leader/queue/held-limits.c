// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What held jobs wait for in the queue: limits of rules, and their turn.
//
// A limit counts jobs that run by its rule, are in the entry that is being made, go, or were woken for its
// room. When one of these is over, as many of those that wait as have room then are due. Jobs that wait for
// a limit go in the order of their numbers, and a request that comes does not pass them: nor does a job
// that one entry frees together with the limit, so those that are due are judged in that order, whatever
// made them due. As long as some are due that could not be judged yet, a request that comes is none of the
// first of a limit.
//
// Without memory the process ends (oom.h).

#include "held-jobs-private.h"

#include "oom.h"
#include "queue-policy.h"
#include "request-kind.h"
#include "turn.h"

static HeldLimit *find(const Leader *l, uint32_t rule) {
        return map_find(&l->held_limits, &rule, sizeof(rule));
}

HeldLimit *held_limit_get(Leader *l, uint32_t rule) {
        HeldLimit *limit = find(l, rule);

        if (limit)
                return limit;
        limit = oom_checked(calloc(1, sizeof(*limit)));
        limit->rule = rule;
        list_init(&limit->waiting);
        (void) oom_check(map_add(&l->held_limits, &limit->rule, sizeof(limit->rule), limit));
        return limit;
}

const Argosy__QueueRule *held_rule_find(const Leader *l, uint32_t number) {
        const Argosy__QueueRecord *queue = cluster_state_queue(l->state);

        for (size_t i = 0; i < queue->n_rules; i++)
                if (queue->rules[i]->number == number)
                        return queue->rules[i];
        return NULL;
}

void held_job_give_up_room(HeldJob *h) {
        HeldLimit *woken = TAKE_PTR(h->woken);

        if (!woken)
                return;
        woken->n_woken--;
        held_limit_wake(h->leader, woken);
}

void held_job_leave(HeldJob *h) {
        HeldLimit *limit = TAKE_PTR(h->limit);

        h->watch = queue_watch_free(h->watch);
        list_unlink(&h->queue);
        deadline_heap_clear(&h->leader->held_due, &h->due);
        held_job_give_up_room(h);
        if (limit && h->pending) {
                limit->n_going--;
                held_limit_wake(h->leader, limit);
        } else if (limit)
                limit->n_waiting--;
}

void held_job_stay_due(Leader *l, HeldJob *h) {
        (void) oom_check(deadline_heap_set(&l->held_due, &h->due, h->number));
        leader_mark(l);
}

void held_job_make_due(Leader *l, HeldJob *h) {
        if (h->pending || h->end.state != ARGOSY__JOB_STATE__JOB_UNKNOWN)
                return;
        held_job_leave(h);
        held_job_stay_due(l, h);
}

void held_limit_wake(Leader *l, HeldLimit *limit) {
        const Argosy__QueueRule *rule = held_rule_find(l, limit->rule);
        size_t max = rule ? rule->limit : SIZE_MAX,
               taken = limit->n_running + limit->n_admitted + limit->n_going + limit->n_woken;

        for (; taken < max && !list_is_empty(&limit->waiting); taken++) {
                HeldJob *h = CONTAINER_OF(limit->waiting.next, HeldJob, queue);

                held_job_make_due(l, h);
                h->woken = limit;
                limit->n_woken++;
        }
}

void held_limit_admit(Leader *l, uint32_t rule) {
        if (rule == 0)
                return;
        held_limit_get(l, rule)->n_admitted++;
        l->n_held_admitted++;
}

void held_limits_settle(Leader *l) {
        if (l->n_held_admitted == 0)
                return;
        l->n_held_admitted = 0;
        map_foreach (slot, &l->held_limits) {
                HeldLimit *limit = slot->value;

                if (limit->n_admitted == 0)
                        continue;
                limit->n_admitted = 0;
                held_limit_wake(l, limit);
        }
}

void held_limit_begin(Leader *l, uint32_t rule) {
        if (rule > 0)
                held_limit_get(l, rule)->n_running++;
}

void held_limit_end(Leader *l, uint32_t rule) {
        HeldLimit *limit = rule > 0 ? find(l, rule) : NULL;

        if (!limit || limit->n_running == 0)
                return;
        limit->n_running--;
        held_limit_wake(l, limit);
}

size_t held_limit_running(const Leader *l, uint32_t rule) {
        const HeldLimit *limit = find(l, rule);

        return limit ? limit->n_running : 0;
}

bool held_jobs_can_hold(const Argosy__Request *request) {
        return queue_policy_can_hold(request) && request_job_id(request);
}

// What cannot be held would be refused: not for those of whom nobody knows whether the limit is theirs.
bool held_limit_is_full(const Leader *l, const Argosy__QueueRule *rule, const Argosy__Request *request,
                        HeldMoment moment) {
        const HeldLimit *limit = find(l, rule->number);
        size_t n = limit ? limit->n_running + limit->n_admitted : 0;

        if (moment == HELD_COMES && l->held_due.n > 0 && held_jobs_can_hold(request))
                return true;
        if (limit && moment != HELD_DECIDED)
                n += limit->n_going;
        if (limit && moment == HELD_COMES)
                n += limit->n_waiting;
        return n >= rule->limit;
}

// In the order of numbers: behind those that stand there, or one that was there before comes back.
void held_limit_wait(HeldJob *h, HeldLimit *limit) {
        ListNode *before = &limit->waiting;

        if (!list_is_empty(before) && CONTAINER_OF(before->prev, HeldJob, queue)->number > h->number)
                do
                        before = before->next;
                while (CONTAINER_OF(before, HeldJob, queue)->number < h->number);
        h->limit = limit;
        limit->n_waiting++;
        list_insert_before(before, &h->queue);
}

// Who waits for a limit is judged anew. A limit that no rule has goes with the last that counts for it.
void held_limits_on_rules(Leader *l) {
        map_foreach (slot, &l->held_limits) {
                HeldLimit *limit = slot->value;

                while (!list_is_empty(&limit->waiting))
                        held_job_make_due(l, CONTAINER_OF(limit->waiting.next, HeldJob, queue));
                if (!held_rule_find(l, limit->rule) &&
                    limit->n_running + limit->n_admitted + limit->n_going + limit->n_woken == 0) {
                        map_take(&l->held_limits, &limit->rule, sizeof(limit->rule));
                        free(limit);
                }
        }
}
