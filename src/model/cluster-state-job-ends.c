// SPDX-License-Identifier: LGPL-2.1-or-later

// How jobs end, and what keeps one that has not from being dropped.
//
// The leader finds that a job has ended and says so in an entry; here that is appended to what is packed of
// it, as a further part is. Only a job that has not ended does: said twice, it is skipped, the same on every
// voter. The request of one that had not begun (cluster-state-stored-requests.c) goes with it.
//
// A job that has not ended and whose place in the ring is needed, or that is too old, is held beside the
// ring, by its number, until it ends; then it goes at once, as those did that it came with, or when nobody
// that is held back waits for it any more. There are as many as have lasted longer than everything that came
// after them.
//
// Jobs that an entry has brought, and those that have ended, are noted for the leader
// (cluster_state_next_job()); other hosts drop the notes.

#include <errno.h>

#include "array.h"
#include "cluster-state-private.h"
#include "job-state.h"
#include "message.h"

// ------------------------------------------------------------------------------------------------ held

// Index of the job, or where it would stand.
static size_t held_index(HeldJob *const *held, size_t n, uint64_t number) {
        size_t low = 0;

        while (low < n) {
                size_t middle = low + (n - low) / 2;

                if (held[middle]->number < number)
                        low = middle + 1;
                else
                        n = middle;
        }
        return low;
}

JobEntry *held_job_find(HeldJob *const *held, size_t n, uint64_t number) {
        size_t i = held_index(held, n, number);

        return i < n && held[i]->number == number ? held[i]->entry : NULL;
}

static HeldJob *held_new(uint64_t number, JobEntry *entry) {
        HeldJob *h = malloc(sizeof *h);

        if (h)
                *h = (HeldJob){.number = number, .entry = entry};
        return h;
}

// Numbers only grow: it is the greatest of them.
int state_hold_job(ClusterState *s, uint64_t number, JobEntry *entry) {
        JobTable *t = &s->jobs;
        HeldJob *h;

        if (ARRAY_GROW(t->held, t->held_allocated, t->n_held + 1) < 0)
                return -ENOMEM;
        h = held_new(number, entry);
        if (!h)
                return -ENOMEM;
        t->held[t->n_held++] = h;
        return 0;
}

int state_replace_held_job(ClusterState *s, uint64_t number, JobEntry *entry) {
        size_t i = held_index(s->jobs.held, s->jobs.n_held, number);
        HeldJob *h = held_new(number, entry);

        if (!h)
                return -ENOMEM;
        state_retire(s, s->jobs.held[i], sizeof *h);
        s->jobs.held[i] = h;
        return 0;
}

static void drop_held(ClusterState *s, uint64_t number) {
        JobTable *t = &s->jobs;
        size_t i = held_index(t->held, t->n_held, number);
        HeldJob *h = t->held[i];

        memmove(&t->held[i], &t->held[i + 1], (t->n_held - i - 1) * sizeof(HeldJob *));
        t->n_held--;
        state_retire(s, h->entry, sizeof *h->entry + h->entry->len + h->entry->n_spans * sizeof(JobSpan));
        state_retire(s, h, sizeof *h);
}

void state_unhold_job(ClusterState *s, uint64_t number) {
        const JobEntry *job = held_job_find(s->jobs.held, s->jobs.n_held, number);

        if (!job || job_state_is_open((Argosy__JobState) job->state) || state_job_is_awaited(s, number))
                return;
        state_note_forgotten_job(s, job);
        drop_held(s, number);
}

void state_held_jobs_done(ClusterState *s) {
        while (s->jobs.n_held > 0)
                drop_held(s, s->jobs.held[s->jobs.n_held - 1]->number);
        free(s->jobs.held);
        free(s->jobs.news);
        free(s->jobs.ended);
}

// ------------------------------------------------------------------------------------------ which there are

static uint64_t number_before(const ClusterState *s, uint64_t number) {
        const JobTable *t = &s->jobs;
        size_t i;

        if (t->n > 0 && number > cluster_state_first_job(s))
                return job_of_rank(t->gap, job_rank(t->gap, MIN_OF(number - 1, t->last)));
        i = held_index(t->held, t->n_held, number);
        return i > 0 ? t->held[i - 1]->number : 0;
}

static uint64_t number_after(const ClusterState *s, uint64_t number) {
        const JobTable *t = &s->jobs;
        size_t i = held_index(t->held, t->n_held, number + 1);
        uint64_t rank = job_rank(t->gap, number), last = job_rank(t->gap, t->last);

        if (i < t->n_held)
                return t->held[i]->number;
        return rank < last && t->n > 0 ? job_of_rank(t->gap, MAX_OF(rank, last - t->n) + 1) : 0;
}

bool cluster_state_job_is_dropped(const ClusterState *s, uint64_t number) {
        const JobEntry *job = s->jobs.n_dropped > 0 && number > 0 ? state_find_job(s, number) : NULL;

        return job && job->dropped;
}

uint64_t cluster_state_job_before(const ClusterState *s, uint64_t number) {
        do
                number = number_before(s, number);
        while (cluster_state_job_is_dropped(s, number));
        return number;
}

uint64_t cluster_state_job_after(const ClusterState *s, uint64_t number) {
        do
                number = number_after(s, number);
        while (cluster_state_job_is_dropped(s, number));
        return number;
}

Argosy__JobState cluster_state_job_state(const ClusterState *s, uint64_t number) {
        JobView now = state_jobs_view(s);
        const JobEntry *job = job_view_find(&now, number);

        return job ? (Argosy__JobState) job->state : ARGOSY__JOB_STATE__JOB_UNKNOWN;
}

// ------------------------------------------------------------------------------------------------ ends

static Argosy__JobRecord only_the_end(const ClusterState *s, const Argosy__JobRecord *end) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;

        record.state = end->state;
        record.ended_us = end->ended_us;
        record.counted_us = s->counted_us;
        record.ends = end->ends;
        record.n_ends = end->n_ends;
        record.failed = end->failed;
        record.unplaced = end->unplaced;
        record.overtaken = end->overtaken;
        record.cancelled = end->cancelled;
        record.end_message = end->end_message;
        return record;
}

int state_note_job_state(ClusterState *s, uint64_t number) {
        JobTable *t = &s->jobs;

        if (ARRAY_GROW(t->ended, t->ended_allocated, t->n_ended + 1) < 0)
                return -ENOMEM;
        t->ended[t->n_ended++] = number;
        return 0;
}

static int end_job(ClusterState *s, const Argosy__JobRecord *end) {
        int r;

        if (end->state == ARGOSY__JOB_STATE__JOB_UNKNOWN || job_state_is_open(end->state) ||
            !job_state_is_open(cluster_state_job_state(s, end->number)))
                return 0;
        r = state_note_job_state(s, end->number)
                    ?: state_append_to_job(s, end->number, only_the_end(s, end));
        if (r < 0)
                return r;
        state_drop_stored_request(s, end->number);
        state_unhold_job(s, end->number);
        return state_note_job(s, (JobNews){.number = end->number, .only_state = true});
}

int state_end_jobs(ClusterState *s, const Argosy__LogOp__JobEnds *ends) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < ends->n_ends; i++)
                r = end_job(s, ends->ends[i]);
        return r;
}

// ------------------------------------------------------------------------------------------------ news

int state_note_job(ClusterState *s, JobNews news) {
        JobTable *t = &s->jobs;

        if (ARRAY_GROW(t->news, t->news_allocated, t->n_news + 1) < 0)
                return -ENOMEM;
        t->news[t->n_news++] = news;
        return 0;
}

const JobNews *cluster_state_next_job(ClusterState *s) {
        JobTable *t = &s->jobs;

        if (t->n_news_taken < t->n_news)
                return &t->news[t->n_news_taken++];
        t->n_news = t->n_news_taken = 0;
        return NULL;
}

uint64_t cluster_state_next_ended_job(ClusterState *s) {
        JobTable *t = &s->jobs;

        if (t->n_ended_taken < t->n_ended)
                return t->ended[t->n_ended_taken++];
        t->n_ended = t->n_ended_taken = 0;
        return 0;
}
