// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs that have given more than their first entry did: what a further one gives is later than the number of the job says
// (cluster-state-jobs.c). In the order of revisions, so whose one was is found by halves, and what came since one are the
// last ones.
//
// Those of jobs that are not kept any more go now and then.
//
// Failures: none but memory.

#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "cluster-state-private.h"

static bool is_kept(const ClusterState *s, uint64_t job) {
        JobView now = state_jobs_view(s);

        return job_view_find(&now, job);
}

uint64_t state_late_job_of(const ClusterState *s, uint64_t revision) {
        size_t low = 0, high = s->jobs.n_late;

        while (low < high) { // `low`: the first that goes as far as the revision
                size_t middle = low + (high - low) / 2;

                if (s->jobs.late[middle].span.last < revision)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == s->jobs.n_late || s->jobs.late[low].span.before >= revision || !is_kept(s, s->jobs.late[low].job))
                return 0;
        return s->jobs.late[low].job;
}

static void forget_late_ones_that_are_gone(ClusterState *s) {
        JobTable *t = &s->jobs;
        size_t kept = 0;

        for (size_t i = 0; i < t->n_late; i++)
                if (is_kept(s, t->late[i].job))
                        t->late[kept++] = t->late[i];
        t->n_late = kept;
}

// Looked through before it grows, so it costs what it grows by.
int state_note_late_job(ClusterState *s, uint64_t job, JobSpan span) {
        JobTable *t = &s->jobs;

        if (span.before == span.last)
                return 0;
        if (t->n_late == t->late_allocated)
                forget_late_ones_that_are_gone(s);
        if (ARRAY_GROW(t->late, t->late_allocated, t->n_late + 1 + t->n_late / 2) < 0)
                return -ENOMEM;
        t->late[t->n_late++] = (LateSpan){.span = span, .job = job};
        return 0;
}

// Who has given many revisions was found a moment ago.
static bool has_number(const uint64_t *numbers, size_t n, uint64_t number) {
        while (n-- > 0)
                if (numbers[n] == number)
                        return true;
        return false;
}

size_t cluster_state_late_jobs(const ClusterState *s, uint64_t revision, uint64_t before, uint64_t *ret, size_t max) {
        const JobTable *t = &s->jobs;
        size_t n = 0;

        for (size_t i = t->n_late; i-- > 0 && n < max && t->late[i].span.last > revision;)
                if (t->late[i].job < before && !has_number(ret, n, t->late[i].job) && is_kept(s, t->late[i].job))
                        ret[n++] = t->late[i].job;
        return n;
}

static int late_compare(const void *a, const void *b) {
        const LateSpan *x = a, *y = b;

        return x->span.last < y->span.last ? -1 : x->span.last > y->span.last;
}

void state_late_jobs_loaded(ClusterState *s) {
        if (s->jobs.n_late > 0)
                qsort(s->jobs.late, s->jobs.n_late, sizeof *s->jobs.late, late_compare);
}

void state_late_jobs_done(ClusterState *s) {
        free(s->jobs.late);
}
