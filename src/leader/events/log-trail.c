// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the log's last entries were about, in numbers; see log-trail.h. Each entry costs a comparison for
// each table, and a slot of the ring for each job that it begins or ends. A voter that is started or gets an
// image knows what comes behind that moment: a watcher with an older place gets everything.

#include "log-trail.h"

#include <assert.h>

void log_trail_forget(LogTrail *t) {
        t->begun = false;
        t->n_jobs = t->jobs_complete_from = t->last = 0;
}

bool log_trail_on_entry(LogTrail *t, uint64_t index) {
        bool begun = t->begun;

        if (!begun)
                t->begin = index;
        t->last = index;
        t->begun = true;
        return begun;
}

void log_trail_note_table(LogTrail *t, size_t table, uint64_t revision) {
        assert(table < TRAIL_TABLES_MAX);
        if (t->last == t->begin)
                t->tables[table] = (TrailTable){.revision = revision};
        else if (t->tables[table].revision != revision)
                t->tables[table] = (TrailTable){revision, t->last};
}

void log_trail_note_job(LogTrail *t, uint64_t number, bool begins, uint64_t index) {
        TrailJob *slot = &t->jobs[t->n_jobs % t->jobs_max];

        if (t->n_jobs >= t->jobs_max)
                t->jobs_complete_from = slot->index;
        *slot = (TrailJob){index, number, begins};
        t->n_jobs++;
}

uint64_t log_trail_complete_from(const LogTrail *t) {
        return t->begun ? t->begin : UINT64_MAX;
}

uint64_t log_trail_jobs_complete_from(const LogTrail *t) {
        return MAX_OF(log_trail_complete_from(t), t->jobs_complete_from);
}

uint64_t log_trail_table_changed(const LogTrail *t, size_t table) {
        return t->tables[table].index;
}

bool log_trail_table_has_changed(const LogTrail *t, size_t table, uint64_t index) {
        return log_trail_table_changed(t, table) > index;
}

const TrailJob *log_trail_job(const LogTrail *t, size_t i) {
        uint64_t first = t->n_jobs > t->jobs_max ? t->n_jobs - t->jobs_max : 0;

        return first + i < t->n_jobs ? &t->jobs[(first + i) % t->jobs_max] : NULL;
}

uint64_t log_trail_begin_of_job(const LogTrail *t, uint64_t number) {
        const TrailJob *job;

        for (size_t i = 0; (job = log_trail_job(t, i)); i++)
                if (job->begins && job->number == number)
                        return job->index;
        return 0;
}
