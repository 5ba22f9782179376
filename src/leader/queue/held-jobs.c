// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See held-jobs.h. Happy path: the log brings a job that is held; it is judged once (held-jobs-judge.c), and
// stands where what holds it will be noticed: with the job that it waits for, with the queue that is closed,
// with the limit that is full (held-limits.c). When that changes, jobs that stand there are due, are judged
// again, and one that may go becomes a pending request: its rights and conditions are judged, and its effect
// is in one entry with the end of what the log kept of it. Nothing else is written on the way, so a leader
// that begins makes all of this anew.
//
// Cost: what is due. Nobody looks at those that wait, but when the rules change, once at each of those that
// rules hold.
//
// Failures: a job that is over without having begun waits in Leader.held_over until its end is in the log.
// Without memory the process ends (oom.h).

#include "held-jobs-private.h"

#include <stdio.h>
#include <stdlib.h>

#include "held-verdict.h"
#include "job-state.h"
#include "job-words.h"
#include "message-of.h"
#include "message.h"
#include "oom.h"
#include "queue-subject.h"
#include "request-asks.h"
#include "request-kind.h"
#include "response.h"
#include "str.h"
#include "tallies.h"
#include "turn.h"

uint64_t held_job_number(const HeldJob *h) {
        return h->number;
}

static HeldJob *find(const Leader *l, uint64_t number) {
        return map_find(&l->held_jobs, &number, sizeof(number));
}

bool held_job_has_begun(const Leader *l, const HeldJob *h) {
        return cluster_state_job_state(l->state, h->number) != ARGOSY__JOB_STATE__JOB_HELD;
}

// ------------------------------------------------------------------------------------------------ life

void held_job_await(Leader *l, HeldJob *h, uint64_t number) {
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

void held_job_stop_awaiting(Leader *l, HeldJob *h) {
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
        h->begun = held_job_has_begun(l, h);
        h->author = m->author && !h->begun ? author_jobs_add(l, m->author) : NULL;
        list_init(&h->queue);
        list_init(&h->pending_requests);
        argosy__job_record__init(&h->end);
        h->end.number = m->job;
        for (size_t i = 0; i < m->n_after; i++)
                if (held_job_after(cluster_state_job_state(l->state, m->after[i])) == HELD_AFTER_OPEN)
                        held_job_await(l, h, m->after[i]);
        h->tally = tally_row(l, h->number);
        if (!h->begun)
                tally_job(l, h->tally, ARGOSY__JOB_STATE__JOB_UNKNOWN, ARGOSY__JOB_STATE__JOB_HELD);
        (void) oom_check(map_add(&l->held_jobs, &h->number, sizeof(h->number), h));
        return h;
}

void held_job_forget_request(HeldJob *h) {
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

static void note_asking(HeldJob *h, bool asks) {
        if (h->asks == asks)
                return;
        h->asks = asks;
        if (!asks) {
                h->leader->n_held_asking--;
                return;
        }
        h->leader->n_held_asking++;
        if (h->leader->held_due.n > 0)
                leader_mark(h->leader);
}

void held_job_note_asking(const PendingRequest *t, bool asks) {
        if (t->held)
                note_asking(t->held, asks);
}

void held_job_goes_no_more(HeldJob *h) {
        note_asking(h, false);
        h->pending = NULL;
        h->leader->n_held_going--;
}

// What it asked for is in the log, and nobody listens; or it has ended before it could be decided.
static void drop_pending_request(HeldJob *h) {
        PendingRequest *t = h->pending;

        held_job_goes_no_more(h);
        request_stop_answering(t);
        t->held = NULL;
        if (t->job == 0 && t->job_flying == 0)
                request_free(t);
}

static void held_free(Leader *l, HeldJob *h) {
        held_job_leave(h);
        tally_leave(l, h);
        held_job_stop_awaiting(l, h);
        if (h->pending)
                drop_pending_request(h);
        held_job_forget_request(h);
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
                held_job_forget_request(h);
                end_done(h);
        }
        map_done_with(&l->held_jobs, free_value);
        map_done_with(&l->held_awaited, free_value);
        map_done_with(&l->held_limits, free_value);
        deadline_heap_done(&l->held_due);
        list_init(&l->held_closed);
        list_init(&l->held_by_rules);
        list_init(&l->held_behind);
        list_init(&l->held_over);
        list_init(&l->held_going);
        queue_watches_retire(l);
        map_done(&l->queue_names);
        list_init(&l->queue_changed);
        l->n_queue_groups = 0;
        l->n_held_going = l->n_held_asking = l->n_held_admitted = 0;
        l->held_put_back_due = false;
        author_jobs_retire(l); // those of open jobs, too
}

static void take_on(Leader *l, const Argosy__StoredRequest *m) {
        held_job_make_due(l, held_new(l, m));
}

void held_jobs_build(Leader *l) {
        size_t n;
        Argosy__StoredRequest *const *all = cluster_state_stored_requests(l->state, &n);

        for (size_t i = 0; i < n; i++)
                take_on(l, all[i]);
        l->queue_revision = cluster_state_queue_revision(l->state);
}

// -------------------------------------------------------------------------------------- what the log brings

static void held_jobs_wake(Leader *l, uint64_t number) {
        HeldAwaited *a = map_find(&l->held_awaited, &number, sizeof(number));

        if (!a || held_job_after(cluster_state_job_state(l->state, number)) == HELD_AFTER_OPEN)
                return;
        map_take(&l->held_awaited, &number, sizeof(number));
        while (!list_is_empty(&a->waiting)) {
                HeldAfter *after = CONTAINER_OF(a->waiting.next, HeldAfter, by_job);

                list_unlink(&after->by_job);
                after->awaited = NULL;
                held_job_make_due(l, after->job);
        }
        free(a);
}

// The log has a chunk of it, and more is to come: from here on it counts as one that runs
// (queries/open-jobs.c).
static void begin(Leader *l, HeldJob *h, ListNode *ret_pending) {
        HeldLimit *limit = h->pending ? TAKE_PTR(h->limit) : NULL;

        if (h->pending)
                list_unlink(&h->queue);
        list_splice(ret_pending, &h->pending_requests);
        tally_leave(l, h);
        h->begun = true;
        author_jobs_drop(l, TAKE_PTR(h->author));
        if (!limit)
                return;
        limit->n_going--;
        held_limit_wake(l, limit);
}

void held_jobs_on_news(Leader *l, uint64_t number, ListNode *ret_pending) {
        const Argosy__StoredRequest *m = cluster_state_find_stored_request(l->state, number);
        HeldJob *h = find(l, number);

        if (h && !m) {
                list_splice(ret_pending, &h->pending_requests);
                held_free(l, h);
        } else if (h && !held_job_has_begun(l, h)) { // it was released
                held_job_stop_awaiting(l, h);
                held_job_make_due(l, h);
        } else if (h && !h->begun)
                begin(l, h, ret_pending);
        else if (m && !h)
                take_on(l, m);
        held_jobs_wake(l, number);
}

void held_jobs_on_rebalance(Leader *l) {
        held_jobs_wake(l, 0);
}

void held_jobs_on_applied(Leader *l) {
        uint64_t revision = cluster_state_queue_revision(l->state);

        if (l->queue_revision == revision)
                return;
        l->queue_revision = revision;
        l->held_put_back_due = !list_is_empty(&l->held_going);
        while (!list_is_empty(&l->held_closed))
                held_job_make_due(l, CONTAINER_OF(l->held_closed.next, HeldJob, queue));
        while (!list_is_empty(&l->held_by_rules))
                held_job_make_due(l, CONTAINER_OF(l->held_by_rules.next, HeldJob, queue));
        while (!list_is_empty(&l->held_behind)) { // rules hold them first
                HeldJob *h = CONTAINER_OF(l->held_behind.next, HeldJob, queue);

                held_job_stop_awaiting(l, h);
                held_job_make_due(l, h);
        }
        held_limits_on_rules(l);
}

// ------------------------------------------------------------------------------------------------ over

void held_job_say(HeldJob *h, const char *why) {
        char text[JOB_END_MESSAGE_MAX];

        str_fit(text, sizeof(text), "%s", why);
        (void) oom_check(field_set(&h->end.end_message, text));
}

void held_job_end(Leader *l, HeldJob *h, Argosy__JobState state, const char *why) {
        held_job_leave(h);
        held_job_stop_awaiting(l, h);
        h->end.state = state;
        h->end.ended_us = leader_wall(l);
        held_job_say(h, why);
        list_append(&l->held_over, &h->queue);
        leader_mark(l);
}

int held_jobs_decide(Leader *l, BatchBuilder *b) {
        Argosy__JobRecord *pointers[LEADER_LIMIT_held_ends];
        size_t bytes = 0, most = l->one_by_one ? 1 : l->limits.held_ends;

        if (b->packed.len >= l->limits.entry_bytes || (l->one_by_one && b->n_ops > 0))
                return 0;
        Argosy__LogOp__JobEnds ends = MESSAGE_OF(log_op__job_ends, .ends = pointers);
        list_foreach (i, &l->held_over) {
                Argosy__JobRecord *end = &CONTAINER_OF(i, HeldJob, queue)->end;

                if (ends.n_ends == most || bytes >= l->limits.held_ends_bytes)
                        break;
                pointers[ends.n_ends++] = end;
                bytes += argosy__job_record__get_packed_size(end);
        }
        return ends.n_ends > 0 ? batch_builder_end_jobs(b, &ends) : 0;
}

// -------------------------------------------------------------------------------------- who asks about them

// Claims the key of the held request, as everything that begins does.
int held_job_claim(const Leader *l, BatchBuilder *b, uint64_t number) {
        const HeldJob *h = find(l, number);
        const ProtobufCBinaryData *id = h && h->pending ? request_job_id(h->pending->request) : NULL;

        return id ? batch_builder_claim(b, id->data, id->len) : 0;
}

bool held_job_goes_on(const Leader *l, uint64_t number) {
        const HeldJob *h = find(l, number);

        return h && (h->pending || deadline_is_set(&h->due));
}

const char *held_job_rest_refused(const Leader *l, uint64_t number) {
        const HeldJob *h = find(l, number);

        return h && h->begun && !held_job_goes_on(l, number) ? h->end.end_message : NULL;
}

bool held_job_wait(Leader *l, uint64_t number, PendingRequest *t) {
        HeldJob *h = find(l, number);

        if (!h || h->begun)
                return false;
        request_join(t, PENDING_WAIT, &h->pending_requests);
        return true;
}

// "": it asks no host.
static void say_asked(const PendingRequest *t, char ret[HELD_WHY_SIZE]) {
        _cleanup_buf_ Buf what = {};

        if (request_asks(t, &what))
                str_fit(ret, HELD_WHY_SIZE, "%.*s", (int) what.len, (const char *) what.data);
}

void held_job_phrase(const Leader *l, uint64_t number, char ret[HELD_WHY_SIZE]) {
        const HeldJob *h = find(l, number);
        uint64_t open = 0;
        size_t n_open = 0;

        *ret = '\0';
        if (!h || held_job_has_begun(l, h))
                return;
        if (h->pending) {
                say_asked(h->pending, ret);
                return;
        }
        for (size_t i = h->n_after; i-- > 0;)
                if (h->after[i].awaited) {
                        open = h->after[i].awaited->number;
                        n_open++;
                }
        held_verdict_phrase(l, h->why, held_rule_find(l, h->rule), &open, n_open, ret);
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
