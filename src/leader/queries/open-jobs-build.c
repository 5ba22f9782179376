// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs that a leader finds running when it begins: their records are followed before it leads, some units in
// each turn, so that a job of tens of thousands takes as long as many small ones.
//
//      1. of a job that is running, what its record says of the job itself
//      2. of the jobs that have called it off, which units they have removed
//      3. its own units, a piece of the record at a time: each is overtaken, ended, or waited for
//
// What is applied meanwhile is followed as always (open_jobs_on_applied()); the walk goes as far as the
// record went when it came to the job. Until its end the job counts as one that waits for one more unit, so
// it does not end in the middle.
//
// Failures: none but memory (oom.h).
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "message.h"
#include "oom.h"
#include "open-jobs-private.h"
#include "turn.h"
#include "walks.h"

enum {
        BUILD_UNITS = 4,     // such looks that a unit of a running one is worth, and ten times that its job
};

typedef struct JobWalk {
        uint64_t number;
        size_t from, to; // in what is packed of the job
        RemovedUnits removed;
} JobWalk;

// ----------------------------------------------------------------------------------------- what was removed

static void note(RemovedUnits *r, const char *name, uint64_t by) {
        size_t size = strlen(name) + 1;
        RemovedUnit *u = oom_checked(malloc(sizeof(*u) + size));
        int result;

        u->by = by;
        memcpy(u->name, name, size);
        result = map_add_str(&r->units, u->name, u);
        if (result < 0)
                free(u);
        if (result != -EEXIST)
                (void) oom_check(result);
}

size_t open_job_note_removed(const Leader *l, const OpenJob *job, RemovedUnits *r) {
        Argosy__JobRecord *record;
        size_t n;

        for (; r->at < job->n_cancelled_by; r->at++, r->from = 0) {
                uint64_t by = job->cancelled_by[r->at];

                if (oom_check(cluster_state_read_job_piece(l->state, by, &r->from, &record)) < 0)
                        continue; // there is no more of it
                for (size_t g = 0; g < record->n_units; g++)
                        for (size_t i = 0; record->units[g]->gone && i < record->units[g]->n_names; i++)
                                note(r, record->units[g]->names[i], by);
                n = open_job_count_units(record) + 1;
                message_free(record);
                return n;
        }
        return 0;
}

void removed_units_done(RemovedUnits *r) {
        map_done_with(&r->units, free);
}

// ------------------------------------------------------------------------------------------------ one job

static void walk_end(Leader *l) {
        JobWalk *w = TAKE_PTR(l->job_walk);

        if (w)
                removed_units_done(&w->removed);
        free(w);
}

static void walk_begin(Leader *l, uint64_t number) {
        Argosy__JobRecord *head;
        OpenJob *job;
        size_t to;

        if (oom_check(cluster_state_read_job_head(l->state, number, &head, &to)) < 0)
                return; // it is not kept
        job = open_job_begin(l, open_job_find(l, number), number, head);
        job->n_open++;
        message_free(head);
        l->job_walk = oom_checked(calloc(1, sizeof(*l->job_walk)));
        l->job_walk->number = number;
        l->job_walk->to = to;
}

static size_t follow_piece(Leader *l, OpenJob *job, JobWalk *w) {
        Argosy__JobRecord *record;
        size_t n;

        if (w->from >= w->to ||
            oom_check(cluster_state_read_job_piece(l->state, w->number, &w->from, &record)) < 0)
                return 0;
        if (job_end_overtakes(job->verb))
                open_job_overtake_others(l, w->number, record);
        open_job_add_chunk(l, job, record, &w->removed.units);
        n = open_job_count_units(record) + 1;
        message_free(record);
        return n;
}

// How many units were looked at.
static size_t walk_on(Leader *l) {
        JobWalk *w = l->job_walk;
        OpenJob *job = open_job_find(l, w->number);
        size_t n = open_job_note_removed(l, job, &w->removed);

        n = n ?: follow_piece(l, job, w);
        if (n > 0)
                return n;
        walk_end(l);
        job->n_open--;
        open_job_begun(l, job);
        return 1;
}

// ---------------------------------------------------------------------------------------------- all of them

void open_jobs_build_begin(Leader *l) {
        l->jobs_walked = 0;
        l->jobs_resume_us = leader_now(l) + JOB_RESUME_MS * USEC_PER_MSEC;
}

void open_jobs_build_end(Leader *l) {
        walk_end(l);
}

static size_t look_at(Leader *l, uint64_t number) {
        l->jobs_walked = number;
        if (cluster_state_job_state(l->state, number) != ARGOSY__JOB_STATE__JOB_RUNNING)
                return 1;
        walk_begin(l, number);
        return 10 * BUILD_UNITS;
}

bool open_jobs_build_some(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_JOBS];
        size_t most = walk_slice(walk, l->limits.open_jobs_looked), looked = 0;
        uint64_t number = 0;

        while (looked < most) {
                number = l->job_walk ? l->job_walk->number
                                     : cluster_state_job_after(l->state, l->jobs_walked);
                if (number == 0)
                        break;
                looked += l->job_walk ? BUILD_UNITS * walk_on(l) : look_at(l, number);
        }
        walk_sliced(l, walk, number > 0 ? 0 : 1);
        return number == 0;
}
