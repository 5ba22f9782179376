// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A job is told of when it begins and when it has ended. Those that begin are seen by the log's last number;
// those that end are marked (event_mark_job()). One that begins and is forgotten by the log already is
// nobody's news. Out of memory the process ends, as everywhere in the stream.
//
// The newest limits.event_jobs are kept, in the order of their last changes. So all jobs that are kept stand
// behind the last change of one that is kept no more: a watcher that passes that place is told that its jobs
// count no more, and then all that are kept (watchers-follow.c).

#include "event-stream-jobs.h"

#include <stdlib.h>
#include <string.h>

#include "cluster-state.h"
#include "event-core.h"
#include "event-marks.h"
#include "event-stream-roles.h"
#include "job-state.h"
#include "log-trail.h"
#include "oom.h"

// NULL: it began before this voter kept the trail, or long ago.
static JobObject *find_job(const EventJobs *jobs, uint64_t number) {
        return map_find(&jobs->by_number, &number, sizeof(number));
}

static void forget_job(EventJobs *jobs, JobObject *j) {
        map_take(&jobs->by_number, &j->number, sizeof(j->number));
        list_unlink(&j->kept);
        free(j->event.reported);
        free(j);
}

static void forget_oldest(Leader *l, EventJobs *jobs) {
        JobObject *oldest = CONTAINER_OF(jobs->all.next, JobObject, kept);

        jobs->complete_from_seq = MAX_OF(jobs->complete_from_seq, (uint64_t) oldest->event.seq);
        jobs->complete_from_index = MAX_OF(jobs->complete_from_index, oldest->index);
        event_stream_leave_order(l, &oldest->event);
        forget_job(jobs, oldest);
}

static JobObject *get_job(Leader *l, uint64_t number) {
        EventJobs *jobs = l->events->jobs;
        JobObject *j = find_job(jobs, number);

        if (j)
                return j;
        j = oom_checked(calloc(1, sizeof(*j)));
        j->number = number;
        j->before_seq = UINT64_MAX;
        j->event.kind = ARGOSY__EVENT_KIND__EVENT_JOB;
        (void) oom_check(map_add(&jobs->by_number, &j->number, sizeof(j->number), j));
        list_append(&jobs->all, &j->kept);
        while (jobs->by_number.count > jobs->max)
                forget_oldest(l, jobs);
        return j;
}

// It has got the last sequence.
static void note_moved(EventJobs *jobs, JobObject *j, uint64_t index) {
        j->index = index;
        list_unlink(&j->kept);
        list_append(&jobs->all, &j->kept);
}

void event_jobs_begin(Leader *l) {
        EventJobs *jobs = l->events->jobs;
        const TrailJob *job;

        list_init(&jobs->all);
        jobs->max = l->limits.event_jobs;
        jobs->last = cluster_state_last_job(l->state);
        for (size_t i = 0; (job = log_trail_job(l->trail, i)); i++) {
                JobObject *j = get_job(l, job->number);

                event_stream_move_to_end(l, &j->event, ++l->events->last_seq);
                note_moved(jobs, j, job->index);
        }
}

void event_jobs_done(EventJobs *jobs) {
        list_foreach_safe (i, &jobs->all)
                forget_job(jobs, CONTAINER_OF(i, JobObject, kept));
        map_done(&jobs->by_number);
}

// One that was kept only as long as it ran goes with its end: who was told that it runs is told that it is
// gone.
static void drain_job(Leader *l, uint64_t number, bool has_ended) {
        EventDraft d;
        int r = l->event_news.kept ? event_draft_job(l, number, &d) : event_draft_stream(&d, "", 0);

        if (r == 0 && (d.present || has_ended)) {
                JobObject *j = get_job(l, number);
                uint64_t seq = j->event.seq;

                if (!has_ended)
                        j->before_seq = l->events->last_seq; // jobs come before what they have changed
                if (job_state_is_open(cluster_state_job_state(l->state, number)))
                        event_roles_note_job(l, number, &j->event);
                d.role = d.role_before = j->event.role;
                event_stream_follow(l, &j->event, &d);
                if (j->event.seq != seq)
                        note_moved(l->events->jobs, j, l->trail->last);
        }
        event_draft_done(&d);
        (void) oom_check(r);
}

static void drain_ended(Leader *l, uint64_t number) {
        drain_job(l, number, true);
}

// While nobody watches, so many have begun that what is told of the first ones would be forgotten at once.
static void skip_to(Leader *l, uint64_t number) {
        EventJobs *jobs = l->events->jobs;

        while (!list_is_empty(&jobs->all))
                forget_oldest(l, jobs);
        jobs->last = number;
        jobs->complete_from_seq = ++l->events->last_seq;
        jobs->complete_from_index = l->trail->last;
}

size_t event_jobs_drain(Leader *l, size_t left) {
        EventJobs *jobs = l->events->jobs;
        uint64_t last = cluster_state_last_job(l->state);

        if (last - jobs->last > jobs->max && !l->event_news.kept)
                skip_to(l, last - jobs->max);
        for (; left > 0 && jobs->last < last; left--) {
                uint64_t next = cluster_state_job_after(l->state, jobs->last);

                if (next > 0)
                        drain_job(l, next, false);
                jobs->last = next > 0 ? next : last;
        }
        return jobs->last == last ? left - event_marks_take_jobs(l, left, drain_ended) : left;
}

uint64_t event_jobs_complete_from(const EventJobs *jobs) {
        return jobs->complete_from_seq;
}

uint64_t event_jobs_complete_from_index(const EventJobs *jobs) {
        return jobs->complete_from_index;
}

uint64_t event_jobs_before(const Leader *l, uint64_t number) {
        const JobObject *j = find_job(l->events->jobs, number);

        return j ? j->before_seq : UINT64_MAX;
}

bool event_jobs_are_drained(const Leader *l) {
        return l->events->jobs->last == cluster_state_last_job(l->state) && l->event_news.n_jobs == 0;
}
