// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See held-jobs.h. Happy path: the log brings a job that is held; it is judged once, and stands where what
// holds it will be noticed: with the job that it waits for, with the queue that is closed, with the limit
// that is full. When that changes, jobs that stand there are due, are judged again, and one that may go
// becomes a pending request, as if its author had just asked for it: its rights and conditions are judged,
// and its effect is in one entry with the end of what the log kept of it. Nothing else is written on the
// way, so a leader that begins makes all of this anew.
//
// Cost: what is due. Nobody looks at those that wait, but when the rules change, once at each of those that
// rules hold. So many units of these are compared with rules in one turn; the job at which that ends stays
// due, and goes on in the next.
//
// What holds a job may have changed between the turn in which it may go and the one in which its entry is
// made; it is judged again there, and goes back. Who waits for a limit goes in the order of the numbers of
// jobs, and a request that comes does not pass them: nor does a job that one entry frees together with the
// limit, so those that are due are judged in that order, whatever made them due. As long as some are due
// that could not be judged yet, who comes is none of the first of a limit.
//
// Failures: a pending request that could not be decided for want of a leader, or of room on the voters'
// disks, is made again, a second later in the latter case. One that was refused ends its job as cancelled,
// with the words of the refusal. What the log keeps and this build cannot read is no request, and ends
// likewise. Without memory the process ends (oom.h).

#include "held-jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "author-jobs.h"
#include "authorization.h"
#include "feature-level.h"
#include "log-format.h"
#include "job-state.h"
#include "job-words.h"
#include "message.h"
#include "oom.h"
#include "queue-policy.h"
#include "queue-subject.h"
#include "request-kind.h"
#include "response.h"
#include "str.h"
#include "tallies.h"
#include "turn.h"
#include "walks.h"

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
        size_t n_woken; // due, since there is room
        ListNode waiting; // HeldJob.queue
} HeldLimit;

struct HeldJob {
        AuthorJobs *author; // NULL: nobody has said whose it is
        Leader *leader;
        uint64_t number;
        ListNode queue;
        Deadline due; // its number is when
        ListNode pending_requests; // PendingRequest.in[PENDING_WAIT], of who waits for its end
        PendingRequest *pending;   // it goes
        HeldLimit *limit; // it waits for, or for which it goes; NULL: none
        HeldLimit *woken; // the limit whose room it may take: it is due; NULL: none
        // it is due, and is of so many units that it is judged in several turns; NULL: it is not
        Argosy__Request *request;
        QueueLook *look;          // how far that is
        QueueWatch *watch;        // what a rule that holds it has asked of its units; NULL: none does, or it
                                  // asked nothing
        HeldJobVerdict why;
        uint32_t rule; // that holds it
        Argosy__JobRecord end;
        bool begun;   // the log has a chunk of it: it is counted with those that are running
        size_t tally; // its row in Leader.tallies.jobs
        size_t n_after;
        HeldAfter after[];
};

uint64_t held_job_number(const HeldJob *h) {
        return h->number;
}

static HeldJob *find(const Leader *l, uint64_t number) {
        return map_find(&l->held_jobs, &number, sizeof(number));
}

static bool has_begun(const Leader *l, const HeldJob *h) {
        return cluster_state_job_state(l->state, h->number) != ARGOSY__JOB_STATE__JOB_HELD;
}

// ------------------------------------------------------------------------------------------------ limits

static HeldLimit *limit_find(const Leader *l, uint32_t rule) {
        return map_find(&l->held_limits, &rule, sizeof(rule));
}

static HeldLimit *limit_get(Leader *l, uint32_t rule) {
        HeldLimit *limit = limit_find(l, rule);

        if (limit)
                return limit;
        limit = oom_checked(calloc(1, sizeof(*limit)));
        limit->rule = rule;
        list_init(&limit->waiting);
        (void) oom_check(map_add(&l->held_limits, &limit->rule, sizeof(limit->rule), limit));
        return limit;
}

static const Argosy__QueueRule *rule_find(const Leader *l, uint32_t number) {
        const Argosy__QueueRecord *queue = cluster_state_queue(l->state);

        for (size_t i = 0; i < queue->n_rules; i++)
                if (queue->rules[i]->number == number)
                        return queue->rules[i];
        return NULL;
}

static void limit_wake(Leader *l, HeldLimit *limit);

// It has had its turn. What it has not taken is for the next.
static void give_up_room(HeldJob *h) {
        HeldLimit *woken = TAKE_PTR(h->woken);

        if (!woken)
                return;
        woken->n_woken--;
        limit_wake(h->leader, woken);
}

// It stands nowhere any more. What it has not taken of its limit is for the next.
static void leave(HeldJob *h) {
        HeldLimit *limit = TAKE_PTR(h->limit);

        h->watch = queue_watch_free(h->watch);
        list_unlink(&h->queue);
        deadline_heap_clear(&h->leader->held_due, &h->due);
        give_up_room(h);
        if (limit && h->pending) {
                limit->n_going--;
                limit_wake(h->leader, limit);
        } else if (limit)
                limit->n_waiting--;
}

static void stay_due(Leader *l, HeldJob *h) {
        (void) oom_check(deadline_heap_set(&l->held_due, &h->due, h->number));
        leader_mark(l);
}

static void make_due(Leader *l, HeldJob *h) {
        if (h->pending || h->end.state != ARGOSY__JOB_STATE__JOB_UNKNOWN)
                return;
        leave(h);
        stay_due(l, h);
}

// As many as there is room for.
static void limit_wake(Leader *l, HeldLimit *limit) {
        const Argosy__QueueRule *rule = rule_find(l, limit->rule);
        size_t max = rule ? rule->limit : SIZE_MAX,
               taken = limit->n_running + limit->n_admitted + limit->n_going + limit->n_woken;

        for (; taken < max && !list_is_empty(&limit->waiting); taken++) {
                HeldJob *h = CONTAINER_OF(limit->waiting.next, HeldJob, queue);

                make_due(l, h);
                h->woken = limit;
                limit->n_woken++;
        }
}

void held_limit_admit(Leader *l, uint32_t rule) {
        if (rule == 0)
                return;
        limit_get(l, rule)->n_admitted++;
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
                limit_wake(l, limit);
        }
}

void held_limit_begin(Leader *l, uint32_t rule) {
        if (rule > 0)
                limit_get(l, rule)->n_running++;
}

void held_limit_end(Leader *l, uint32_t rule) {
        HeldLimit *limit = rule > 0 ? limit_find(l, rule) : NULL;

        if (!limit || limit->n_running == 0)
                return;
        limit->n_running--;
        limit_wake(l, limit);
}

size_t held_limit_running(const Leader *l, uint32_t rule) {
        const HeldLimit *limit = limit_find(l, rule);

        return limit ? limit->n_running : 0;
}

bool held_jobs_can_hold(const Argosy__Request *request) {
        return queue_policy_can_hold(request) && job_request_id(request);
}

// What cannot be held would be refused: not for those of whom nobody knows whether the limit is theirs.
bool held_limit_is_full(const Leader *l, const Argosy__QueueRule *rule, const Argosy__Request *request,
                        HeldMoment moment) {
        const HeldLimit *limit = limit_find(l, rule->number);
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
static void wait_for_limit(HeldJob *h, HeldLimit *limit) {
        ListNode *before = &limit->waiting;

        if (!list_is_empty(before) && CONTAINER_OF(before->prev, HeldJob, queue)->number > h->number)
                do
                        before = before->next;
                while (CONTAINER_OF(before, HeldJob, queue)->number < h->number);
        h->limit = limit;
        limit->n_waiting++;
        list_insert_before(before, &h->queue);
}

// ------------------------------------------------------------------------------------------------ life

static void await(Leader *l, HeldJob *h, uint64_t number) {
        HeldAwaited *a = map_find(&l->held_awaited, &number, sizeof(number));
        HeldAfter *after = &h->after[h->n_after++];

        if (!a) {
                a = oom_checked(calloc(1, sizeof(*a)));
                a->number = number;
                list_init(&a->waiting);
                (void) oom_check(map_add(&l->held_awaited, &a->number, sizeof(a->number), a));
        }
        *after = (HeldAfter){.job = h, .awaited = a};
        list_append(&a->waiting, &after->by_job);
}

static void stop_awaiting(Leader *l, HeldJob *h) {
        for (size_t i = 0; i < h->n_after; i++) {
                HeldAwaited *a = h->after[i].awaited;

                if (!a)
                        continue;
                list_unlink(&h->after[i].by_job);
                if (list_is_empty(&a->waiting)) {
                        map_take(&l->held_awaited, &a->number, sizeof(a->number));
                        free(a);
                }
        }
        h->n_after = 0;
}

// Its record is small as long as nothing has come of it.
static size_t tally_row(Leader *l, uint64_t number) {
        Argosy__JobRecord *record;
        size_t row;

        if (oom_check(cluster_state_read_job(l->state, number, &record)) < 0)
                return tally_job_row(l, "");
        row = tally_job_row(l, record->verb);
        message_free(record);
        return row;
}

// What has begun is counted as it ends, or when its entry has landed (decide.c).
static void tally_leave(Leader *l, const HeldJob *h) {
        Argosy__JobState state = cluster_state_job_state(l->state, h->number);

        if (h->begun)
                return;
        if (job_state_is_open(state) || (h->pending && h->pending->job_flying))
                state = ARGOSY__JOB_STATE__JOB_UNKNOWN;
        tally_job(l, h->tally, ARGOSY__JOB_STATE__JOB_HELD, state);
}

static HeldJob *held_new(Leader *l, const Argosy__StoredRequest *m) {
        HeldJob *h = oom_checked(
                calloc(1, sizeof(*h) + (m->n_after + 1) * sizeof(*h->after))); // + 1: see stand()

        h->leader = l;
        h->number = m->job;
        h->begun = has_begun(l, h);
        h->author = m->author && !h->begun ? author_jobs_add(l, m->author) : NULL;
        list_init(&h->queue);
        list_init(&h->pending_requests);
        argosy__job_record__init(&h->end);
        h->end.number = m->job;
        for (size_t i = 0; i < m->n_after; i++)
                if (held_job_after(cluster_state_job_state(l->state, m->after[i])) == HELD_AFTER_OPEN)
                        await(l, h, m->after[i]);
        h->tally = tally_row(l, h->number);
        if (!h->begun)
                tally_job(l, h->tally, ARGOSY__JOB_STATE__JOB_UNKNOWN, ARGOSY__JOB_STATE__JOB_HELD);
        (void) oom_check(map_add(&l->held_jobs, &h->number, sizeof(h->number), h));
        return h;
}

// It is judged, or will not be.
static void forget_request(HeldJob *h) {
        h->look = queue_look_free(h->look);
        message_free(TAKE_PTR(h->request));
}

static void end_done(HeldJob *h) {
        for (size_t i = 0; i < h->end.n_ends; i++)
                message_free(h->end.ends[i]);
        free(h->end.ends);
        if (h->end.end_message != protobuf_c_empty_string)
                free(h->end.end_message);
}

// What it asked for is in the log, and nobody listens; or it has ended before it could be decided.
static void drop_pending_request(Leader *l, PendingRequest *t) {
        l->n_held_going--;
        request_stop_answering(t);
        t->held = NULL;
        if (t->job == 0 && t->job_flying == 0)
                request_free(t);
}

static void held_free(Leader *l, HeldJob *h) {
        leave(h);
        tally_leave(l, h);
        stop_awaiting(l, h);
        if (h->pending)
                drop_pending_request(l, TAKE_PTR(h->pending));
        forget_request(h);
        map_take(&l->held_jobs, &h->number, sizeof(h->number));
        author_jobs_drop(l, h->author);
        end_done(h);
        free(h);
}

static void free_value(void *value) {
        free(value);
}

// Pending requests have ended by then.
void held_jobs_retire(Leader *l) {
        map_foreach (slot, &l->held_jobs) {
                HeldJob *h = slot->value;

                h->watch = queue_watch_free(h->watch);
                forget_request(h);
                end_done(h);
        }
        map_done_with(&l->held_jobs, free_value);
        map_done_with(&l->held_awaited, free_value);
        map_done_with(&l->held_limits, free_value);
        deadline_heap_done(&l->held_due);
        list_init(&l->held_closed);
        list_init(&l->held_by_rules);
        list_init(&l->held_over);
        queue_watches_retire(l);
        map_done(&l->queue_names);
        list_init(&l->queue_changed);
        l->n_queue_groups = 0;
        l->n_held_going = l->n_held_admitted = 0;
        author_jobs_retire(l); // those of open jobs, too
}

static void take_on(Leader *l, const Argosy__StoredRequest *m) {
        make_due(l, held_new(l, m));
}

void held_jobs_build(Leader *l) {
        size_t n;
        Argosy__StoredRequest *const *all = cluster_state_stored_requests(l->state, &n);

        for (size_t i = 0; i < n; i++)
                take_on(l, all[i]);
        l->queue_revision = cluster_state_queue_revision(l->state);
}

// -------------------------------------------------------------------------------------- what the log brings

static void wake_those_who_wait(Leader *l, uint64_t number) {
        HeldAwaited *a = map_find(&l->held_awaited, &number, sizeof(number));

        if (!a || held_job_after(cluster_state_job_state(l->state, number)) == HELD_AFTER_OPEN)
                return;
        map_take(&l->held_awaited, &number, sizeof(number));
        while (!list_is_empty(&a->waiting)) {
                HeldAfter *after = CONTAINER_OF(a->waiting.next, HeldAfter, by_job);

                list_unlink(&after->by_job);
                after->awaited = NULL;
                make_due(l, after->job);
        }
        free(a);
}

// The log has a chunk of it, and more is to come: from here on it counts as one that runs
// (queries/open-jobs.c).
static void begin(Leader *l, HeldJob *h, ListNode *ret_pending) {
        HeldLimit *limit = h->pending ? TAKE_PTR(h->limit) : NULL;

        list_splice(ret_pending, &h->pending_requests);
        tally_leave(l, h);
        h->begun = true;
        author_jobs_drop(l, TAKE_PTR(h->author));
        if (!limit)
                return;
        limit->n_going--;
        limit_wake(l, limit);
}

void held_jobs_on_news(Leader *l, uint64_t number, ListNode *ret_pending) {
        const Argosy__StoredRequest *m = cluster_state_find_stored_request(l->state, number);
        HeldJob *h = find(l, number);

        if (h && !m) {
                list_splice(ret_pending, &h->pending_requests);
                held_free(l, h);
        } else if (h && !has_begun(l, h)) { // it was released
                stop_awaiting(l, h);
                make_due(l, h);
        } else if (h && !h->begun)
                begin(l, h, ret_pending);
        else if (m && !h)
                take_on(l, m);
        wake_those_who_wait(l, number);
}

void held_jobs_on_applied(Leader *l) {
        uint64_t revision = cluster_state_queue_revision(l->state);

        if (l->queue_revision == revision)
                return;
        l->queue_revision = revision;
        while (!list_is_empty(&l->held_closed))
                make_due(l, CONTAINER_OF(l->held_closed.next, HeldJob, queue));
        while (!list_is_empty(&l->held_by_rules))
                make_due(l, CONTAINER_OF(l->held_by_rules.next, HeldJob, queue));
        map_foreach (slot, &l->held_limits) {
                HeldLimit *limit = slot->value;

                while (!list_is_empty(&limit->waiting))
                        make_due(l, CONTAINER_OF(limit->waiting.next, HeldJob, queue));
                if (!rule_find(l, limit->rule) &&
                    limit->n_running + limit->n_admitted + limit->n_going + limit->n_woken == 0) {
                        map_take(&l->held_limits, &limit->rule, sizeof(limit->rule));
                        free(limit);
                }
        }
}

// ------------------------------------------------------------------------------------------------ over

// A refusal says what it is about in the words of who has asked, which may be long.
static void end(Leader *l, HeldJob *h, Argosy__JobState state, const char *why) {
        char text[JOB_END_MESSAGE_MAX];

        leave(h);
        stop_awaiting(l, h);
        h->end.state = state;
        h->end.ended_us = leader_wall(l);
        str_fit(text, sizeof(text), "%s", why);
        (void) oom_check(field_set(&h->end.end_message, text));
        list_append(&l->held_over, &h->queue);
        leader_mark(l);
}

static void cancel_after(Leader *l, HeldJob *h, const Argosy__StoredRequest *m) {
        char why[HELD_WHY_SIZE] = "";

        for (size_t i = 0; i < m->n_after && !*why; i++)
                if (held_job_after(cluster_state_job_state(l->state, m->after[i])) == HELD_AFTER_FAILED)
                        snprintf(why, sizeof(why), "job %" PRIu64 ", which it waited for, is not done",
                                 m->after[i]);
        end(l, h, ARGOSY__JOB_STATE__JOB_CANCELLED, why);
}

static void name_refused(HeldJob *h, const Argosy__Response__UnitResult *u) {
        Argosy__JobUnitEnd *e;

        h->end.failed++;
        if (h->end.n_ends == JOB_REFUSED_MAX)
                return;
        e = oom_checked(job_unit_end_new(u->name, ARGOSY__UNIT_END__END_FAILED, "", u->message));
        (void) oom_check(FIELD_APPEND(h->end.ends, h->end.n_ends, e));
}

// There was nothing to do, or nothing that could be done.
static void end_without_effect(Leader *l, HeldJob *h, const Argosy__Response *r) {
        if (r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE)
                for (size_t i = 0; i < r->change->n_units; i++)
                        if (r->change->units[i]->status != 0)
                                name_refused(h, r->change->units[i]);
        end(l, h, h->end.failed > 0 ? ARGOSY__JOB_STATE__JOB_FAILED : ARGOSY__JOB_STATE__JOB_DONE, "");
}

int held_jobs_decide(Leader *l, BatchBuilder *b) {
        Argosy__LogOp__JobEnds ends = ARGOSY__LOG_OP__JOB_ENDS__INIT;
        Argosy__JobRecord *pointers[LEADER_LIMIT_held_ends];
        size_t bytes = 0;

        if (b->packed.len >= l->limits.entry_bytes || (l->one_by_one && b->n_ops > 0))
                return 0;
        ends.ends = pointers;
        list_foreach (i, &l->held_over) {
                Argosy__JobRecord *end = &CONTAINER_OF(i, HeldJob, queue)->end;

                if (ends.n_ends == l->limits.held_ends || bytes >= l->limits.held_ends_bytes)
                        break;
                pointers[ends.n_ends++] = end;
                bytes += argosy__job_record__get_packed_size(end);
        }
        return ends.n_ends > 0 ? batch_builder_end_jobs(b, &ends) : 0;
}

// ------------------------------------------------------------------------------------------------ going

static bool is_to_be_tried_again(const Argosy__Response *r) {
        return r->no_leader || r->status == ENOMEM;
}

// The answer to its pending request, if its effect is not in the log with all of it: then nobody asks any
// more.
static void on_response(const Argosy__Response *r, void *userdata) {
        HeldJob *h = userdata;
        Leader *l = h->leader;

        if (!r->final)
                return;
        leave(h);
        h->pending = NULL;
        l->n_held_going--;
        if (is_to_be_tried_again(r))
                make_due(l, h);
        else if (has_begun(l, h))
                return; // it ends with what was begun
        else if (r->status != 0)
                end(l, h, ARGOSY__JOB_STATE__JOB_CANCELLED, r->message);
        else
                end_without_effect(l, h, r);
}

static void go(Leader *l, HeldJob *h, const Argosy__StoredRequest *m, const Argosy__QueueRule *rule) {
        PendingRequest *t = oom_checked(request_take(l, TAKE_PTR(h->request), on_response, h));

        queue_look_keep(t, TAKE_PTR(h->look));
        t->author = oom_checked(message_copy(m->author));
        authorization_drop_files(l, t);
        t->held = h;
        request_set_job(t, has_begun(l, h) ? h->number : 0); // of which another leader has written a chunk
        h->pending = t;
        l->n_held_going++;
        if (rule && rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT) {
                h->limit = limit_get(l, rule->number);
                h->limit->n_going++;
        }
        give_up_room(h);
        (void) oom_check(request_wait(t, &l->queue));
}

void held_job_put_back(Leader *l, PendingRequest *t) {
        HeldJob *h = t->held;

        leave(h);
        h->pending = NULL;
        l->n_held_going--;
        request_stop_answering(t);
        request_free(t);
        make_due(l, h);
}

// Those that it was asked to wait for are done. A rebalance that has no job yet gets one, and is 0 until
// then.
static void stand_behind(Leader *l, HeldJob *h, const Argosy__Request *request) {
        uint64_t job = 0;

        stop_awaiting(l, h);
        (void) queue_exclusive_job(l, request, &job);
        await(l, h, job);
        if (job > 0)
                return;
        l->rebalance_job->awaited = true;
        leader_mark(l);
}

void held_jobs_on_rebalance(Leader *l) {
        wake_those_who_wait(l, 0);
}

// Where what holds it will be noticed.
static void stand(Leader *l, HeldJob *h, HeldJobVerdict v, const Argosy__QueueRule *rule,
                  const Argosy__Request *request) {
        leave(h);
        h->why = v;
        h->rule = rule ? rule->number : 0;
        if (v == HELD_JOB_RULE || v == HELD_JOB_LIMIT)
                h->watch = queue_look_take_watch(h->look, h);
        if (v == HELD_JOB_CLOSED)
                list_append(&l->held_closed, &h->queue);
        else if (v == HELD_JOB_RULE)
                list_append(&l->held_by_rules, &h->queue);
        else if (v == HELD_JOB_LIMIT)
                wait_for_limit(h, limit_get(l, rule->number));
        else if (v == HELD_JOB_BEHIND)
                stand_behind(l, h, request);
}

// NULL: it is none that this build can read.
static Argosy__Request *read_request(const Argosy__StoredRequest *m) {
        const RequestKind *kind;
        void *request;

        if (!m->author ||
            message_unpack(&argosy__request__descriptor, m->request.data, m->request.len, &request) < 0)
                return NULL;
        kind = request_kind(((Argosy__Request *) request)->what_case);
        if (log_format_check(request, FEATURE_LEVEL, NULL) == 0 && kind && kind->by == REQUEST_BY_LEADER &&
            kind->effect == REQUEST_CHANGES && queue_policy_can_hold(request))
                return request;
        message_free(request);
        return NULL;
}

static void carry_out(Leader *l, HeldJob *h, const Argosy__StoredRequest *m, HeldJobVerdict v,
                      const Argosy__QueueRule *rule) {
        if (v == HELD_JOB_GOES)
                go(l, h, m, rule);
        else if (v == HELD_JOB_OVER)
                cancel_after(l, h, m);
        else if (v == HELD_JOB_REFUSED)
                end(l, h, ARGOSY__JOB_STATE__JOB_CANCELLED, rule->text);
        else
                stand(l, h, v, rule, h->request);
        forget_request(h);
}

// False: it is due still, and judged in a later turn.
static bool judge_due(Leader *l, HeldJob *h, const Argosy__StoredRequest *m, size_t *left) {
        const Argosy__QueueRule *rule = NULL;
        HeldJobVerdict v = has_begun(l, h) ? HELD_JOB_GOES : held_verdict_without_rules(l, m);
        bool took_turns = h->look;

        l->n_held_judged++;
        if (v == HELD_JOB_GOES && !h->request)
                h->request = read_request(m);
        if (v == HELD_JOB_GOES && !h->request)
                end(l, h, ARGOSY__JOB_STATE__JOB_CANCELLED,
                    "the leader's version cannot carry out such a request");
        else if (v != HELD_JOB_GOES || has_begun(l, h) ||
                 held_verdict_find(l, &(HeldQuestion){m->author, h->request, m, HELD_IS_DUE}, left, &h->look,
                                   &v, &rule)) {
                if (v == HELD_JOB_GOES && !took_turns) // it is asked anew when it is decided
                        h->look = queue_look_free(h->look);
                carry_out(l, h, m, v, rule);
        } else
                return false;
        return true;
}

void held_jobs_step(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_HELD];
        size_t n = 0, bytes = 0, most = walk_slice(walk, l->limits.held_judged),
               left = walk_slice(walk, l->limits.held_looks);

        queue_watches_turn(l);
        if (l->pause_us > leader_now(l))
                return;
        for (HeldJob *h; (h = queue_take_changed(l));)
                make_due(l, h);
        while (l->held_due.n > 0 && l->n_held_going < l->limits.held_going && n++ < most &&
               bytes < walk_slice(walk, l->limits.held_bytes)) {
                HeldJob *h = CONTAINER_OF(deadline_heap_pop(&l->held_due, UINT64_MAX), HeldJob, due);
                const Argosy__StoredRequest *m = cluster_state_find_stored_request(l->state, h->number);

                bytes += m->request.len;
                if (judge_due(l, h, m, &left))
                        continue;
                stay_due(l, h);
                break; // no job behind it goes before it
        }
        walk_sliced(l, walk, l->held_due.n > 0 ? 0 : 1);
        if (l->held_due.n > 0 && l->n_held_going < l->limits.held_going) // else their entry marks it
                leader_mark(l);
}

// It goes for no place of this limit: since it goes the rules have changed. Among those of this one it is
// judged anew, in the order of numbers.
static bool is_of_another_limit(const HeldJob *h, const Argosy__QueueRule *rule) {
        return rule && rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT &&
               (!h->limit || h->limit->rule != rule->number);
}

bool held_jobs_judge(Leader *l, PendingRequest *t, HeldJobVerdict *ret, const Argosy__QueueRule **ret_rule) {
        const Argosy__StoredRequest *m =
                t->held ? cluster_state_find_stored_request(l->state, t->held->number) : NULL;
        QueueLook *look = queue_look_take(t);
        size_t left = l->limits.held_looks;
        bool took_turns = look, known;

        known = held_verdict_find(l,
                                  &(HeldQuestion){.author = m ? m->author : t->author,
                                                  .request = t->request,
                                                  .stored = m,
                                                  .moment = m ? HELD_DECIDED : HELD_COMES},
                                  &left, &look, ret, ret_rule);
        if (known && t->held && *ret == HELD_JOB_GOES && is_of_another_limit(t->held, *ret_rule))
                *ret = HELD_JOB_LIMIT;
        if (known && !took_turns) // should it come by here again, it is asked anew
                look = queue_look_free(look);
        queue_look_keep(t, look);
        return known;
}

// -------------------------------------------------------------------------------------- who asks about them

// Claims the key of the held request, as everything that begins does.
int held_job_claim(const Leader *l, BatchBuilder *b, uint64_t number) {
        const HeldJob *h = find(l, number);
        const ProtobufCBinaryData *id = h && h->pending ? job_request_id(h->pending->request) : NULL;

        return id ? batch_builder_claim(b, id->data, id->len) : 0;
}

bool held_job_goes_on(const Leader *l, uint64_t number) {
        const HeldJob *h = find(l, number);

        return h && (h->pending || h->due.place > 0);
}

bool held_job_wait(Leader *l, uint64_t number, PendingRequest *t) {
        HeldJob *h = find(l, number);

        if (!h || h->begun)
                return false;
        request_join(t, PENDING_WAIT, &h->pending_requests);
        return true;
}

void held_job_phrase(const Leader *l, uint64_t number, char ret[HELD_WHY_SIZE]) {
        const HeldJob *h = find(l, number);
        uint64_t open = 0;
        size_t n_open = 0;

        *ret = '\0';
        if (!h || has_begun(l, h) || h->pending)
                return;
        for (size_t i = h->n_after; i-- > 0;)
                if (h->after[i].awaited) {
                        open = h->after[i].awaited->number;
                        n_open++;
                }
        held_verdict_phrase(l, h->why, rule_find(l, h->rule), &open, n_open, ret);
}

size_t held_jobs_waiting(const Leader *l, uint64_t number, uint64_t *ret, size_t max) {
        const HeldAwaited *a = map_find(&l->held_awaited, &number, sizeof(number));
        size_t n = 0;

        if (!a)
                return 0;
        list_foreach (i, &a->waiting) {
                if (n < max)
                        ret[n] = CONTAINER_OF(i, const HeldAfter, by_job)->job->number;
                n++;
        }
        return n;
}

size_t held_jobs_of_rule(const Leader *l, uint32_t rule) {
        size_t n = 0;

        map_foreach (slot, &l->held_jobs) {
                const HeldJob *h = slot->value;

                n += h->rule == rule && !h->pending && (h->why == HELD_JOB_RULE || h->why == HELD_JOB_LIMIT);
        }
        return n;
}
