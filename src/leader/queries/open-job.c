// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is known of a job that is running, by its number: for lists, waits and decisions.
//
// Happy path: open-jobs.c has the job in Leader.open_jobs as long as it runs; who asks finds it there.
// Failures: a job that is not running is told apart in each answer.

#include "open-job.h"

#include "job-state.h"
#include "tables.h"
#include "unit-work.h"

OpenJob *open_job_find(const Leader *l, uint64_t number) {
        return map_find(&l->open_jobs, &number, sizeof(number));
}

uint32_t open_job_n_refused(const Leader *l, uint64_t number) {
        const OpenJob *job = open_job_find(l, number);

        return job ? job->n_refused : 0;
}

bool open_job_is_resumed(const Leader *l, uint64_t number) {
        const OpenJob *job = open_job_find(l, number);

        return job ? job->resumed : !job_state_is_open(cluster_state_job_state(l->state, number));
}

bool open_job_was_cancelled_by(const OpenJob *job, uint64_t by) {
        for (size_t i = 0; i < job->n_cancelled_by; i++)
                if (job->cancelled_by[i] == by)
                        return true;
        return false;
}

bool open_job_is_cancelled_by(const Leader *l, uint64_t number, uint64_t by) {
        const OpenJob *job = open_job_find(l, number);

        return job && open_job_was_cancelled_by(job, by);
}

const Argosy__JobRecord *open_job_end_known(const Leader *l, uint64_t number) {
        const OpenJob *job = open_job_find(l, number);

        return job && job->end.state != ARGOSY__JOB_STATE__JOB_UNKNOWN && list_is_linked(&job->queue)
                       ? &job->end
                       : NULL;
}

Argosy__Verb open_job_awaits(const Leader *l, uint64_t number, const Unit *u) {
        list_foreach (i, &unit_work_seen(u)->waiters) {
                WaiterItem *wait = CONTAINER_OF(i, WaiterItem, by_unit);
                const JobItem *item = CONTAINER_OF(wait, JobItem, wait);

                if (!wait->waiter && item->job->number == number)
                        return item->verb;
        }
        return ARGOSY__VERB__VERB_NONE;
}
