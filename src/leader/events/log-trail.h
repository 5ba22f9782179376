// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The log's part of the stream, as every voter keeps it while another one leads: at which index of the log
// jobs began and ended last, and tables were changed. A new leader knows by it what a watcher that got
// everything up to an index has missed. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leader-limits.h"
#include "macro.h"

enum {
        TRAIL_TABLES_MAX = 8,
};

typedef struct TrailJob {
        uint64_t index;
        uint64_t number : 63;
        bool begins : 1; // else it has ended there
} TrailJob;

typedef struct TrailTable {
        uint64_t revision; // as it was seen last
        uint64_t index;    // of its last change since `begin`; 0: there was none
} TrailTable;

typedef struct LogTrail { // but for jobs_max zero-initialised: it knows nothing yet
        unsigned jobs_max; // beginnings and ends of jobs that are remembered; older ones are forgotten
        bool begun;
        uint64_t begin; // index behind which it knows everything
        uint64_t last;  // of the newest entry
        TrailTable tables[TRAIL_TABLES_MAX];
        uint64_t last_job;
        TrailJob jobs[LEADER_LIMIT_trail_jobs]; // a ring
        uint64_t n_jobs;               // that were ever noted
        uint64_t jobs_complete_from;   // index of the newest of those that are not in it any more
} LogTrail;

// The state was replaced: what happened in between is not known.
void log_trail_forget(LogTrail *t);
// False: this is the first entry, behind which it knows everything; else the caller notes what it has
// brought.
bool log_trail_on_entry(LogTrail *t, uint64_t index);
// Notes of the current entry: the table has this revision now; it began the job, or ended it.
void log_trail_note_table(LogTrail *t, size_t table, uint64_t revision);
void log_trail_note_job(LogTrail *t, uint64_t number, bool begins, uint64_t index);
// The index behind which it knows all that has happened: in tables, and to jobs. UINT64_MAX: nothing yet.
uint64_t log_trail_complete_from(const LogTrail *t);
uint64_t log_trail_jobs_complete_from(const LogTrail *t);
uint64_t log_trail_table_changed(const LogTrail *t, size_t table); // at which it changed last; 0: before
bool log_trail_table_has_changed(const LogTrail *t, size_t table, uint64_t index); // after that index
// Those that it has, the oldest first; from 0 on. NULL: no more.
const TrailJob *log_trail_job(const LogTrail *t, size_t i);
// Where it began; 0: that is not known any more.
uint64_t log_trail_begin_of_job(const LogTrail *t, uint64_t number);
