// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs that have given more than their first entry did: what a further one gives is later than the number of
// the job says (cluster-state-jobs.c). In the order of revisions, so whose one was is found by halves, and
// what came since one are the last ones.
//
// Those of jobs that are not kept any more go bit by bit, as others come: a pass goes over all of them, some
// with each that is noted, and moves those that stay to the front.
//
//      spans[0, n_kept)         it has been there: these stay
//      spans[n_kept, n_looked)  nothing
//      spans[n_looked, n)       it is yet to come there
//
// So no entry costs more for what there is, and what nobody needs is at most what comes during one pass, one
// in LOOKED of those that there are, beside what has gone meanwhile.
//
// Failures: none but memory.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cluster-state-private.h"

enum { LOOKED = 16 }; // for each that is noted, at about 0.1 us

static bool is_kept(const ClusterState *s, uint64_t job) {
        JobView now = state_jobs_view(s);

        return job_view_find(&now, job);
}

// The first of these that goes as far as the revision; `end`: none does.
static size_t find_from(const LateJobs *l, size_t begin, size_t end, uint64_t revision) {
        while (begin < end) {
                size_t middle = begin + (end - begin) / 2;

                if (l->spans[middle].span.last < revision)
                        begin = middle + 1;
                else
                        end = middle;
        }
        return begin;
}

uint64_t state_late_job_of(const ClusterState *s, uint64_t revision) {
        const LateJobs *l = &s->jobs.late;
        size_t i = find_from(l, 0, l->n_kept, revision);

        if (i == l->n_kept)
                i = find_from(l, l->n_looked, l->n, revision);
        if (i == l->n || l->spans[i].span.before >= revision || !is_kept(s, l->spans[i].job))
                return 0;
        return l->spans[i].job;
}

static void forget_some(ClusterState *s) {
        LateJobs *l = &s->jobs.late;

        for (size_t i = 0; i < LOOKED && l->n_looked < l->n; i++, l->n_looked++)
                if (is_kept(s, l->spans[l->n_looked].job))
                        l->spans[l->n_kept++] = l->spans[l->n_looked];
        if (l->n_looked < l->n)
                return;
        l->n = l->n_kept;
        l->n_kept = l->n_looked = 0; // from the front again
}

int state_note_late_job(ClusterState *s, uint64_t job, JobSpan span) {
        LateJobs *l = &s->jobs.late;

        if (span.before == span.last)
                return 0;
        forget_some(s);
        if (ARRAY_GROW(l->spans, l->allocated, l->n + 1) < 0)
                return -ENOMEM;
        l->spans[l->n++] = (LateSpan){.span = span, .job = job};
        return 0;
}

// Who has given many revisions was found a moment ago.
static bool has_number(const uint64_t *numbers, size_t n, uint64_t number) {
        while (n-- > 0)
                if (numbers[n] == number)
                        return true;
        return false;
}

// Those of [begin, end) from the last one on. Returns how many there are.
static size_t list(const ClusterState *s, size_t begin, size_t end, uint64_t revision, uint64_t before,
                   uint64_t *ret, size_t n, size_t max) {
        const LateSpan *spans = s->jobs.late.spans;

        for (size_t i = end; i-- > begin && n < max && spans[i].span.last > revision;)
                if (spans[i].job < before && !has_number(ret, n, spans[i].job) && is_kept(s, spans[i].job))
                        ret[n++] = spans[i].job;
        return n;
}

size_t cluster_state_late_jobs(const ClusterState *s, uint64_t revision, uint64_t before, uint64_t *ret,
                               size_t max) {
        const LateJobs *l = &s->jobs.late;
        size_t n = list(s, l->n_looked, l->n, revision, before, ret, 0, max);

        return list(s, 0, l->n_kept, revision, before, ret, n, max);
}

static int late_compare(const void *a, const void *b) {
        const LateSpan *x = a, *y = b;

        return x->span.last < y->span.last ? -1 : x->span.last > y->span.last;
}

void state_late_jobs_loaded(ClusterState *s) {
        LateJobs *l = &s->jobs.late;

        if (l->n_looked > l->n_kept)
                memmove(l->spans + l->n_kept, l->spans + l->n_looked,
                        (l->n - l->n_looked) * sizeof(*l->spans));
        l->n -= l->n_looked - l->n_kept;
        l->n_kept = l->n_looked = 0;
        if (l->n > 0)
                qsort(l->spans, l->n, sizeof(*l->spans), late_compare);
}

void state_late_jobs_done(ClusterState *s) {
        free(s->jobs.late.spans);
}
