// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How many jobs there are, by verb: open ones, and how many have ended in which way. Pure. A verb has a row
// from its first job on. There are a few dozen of them, but they come as words of the log, so the rows are
// bounded: later verbs share the last row.

#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"

enum {
        JOB_TALLY_ROWS = 48,
        JOB_TALLY_VERB = 24, // bytes; what is longer is cut
        JOB_STATES = ARGOSY__JOB_STATE__JOB_HELD + 1,
};

typedef struct JobTallyRow {
        char verb[JOB_TALLY_VERB];
        size_t open[JOB_STATES];    // by state: held or running
        uint64_t ended[JOB_STATES]; // since the process began
} JobTallyRow;

typedef struct JobTally { // zeroed: none
        JobTallyRow rows[JOB_TALLY_ROWS];
        size_t n;
} JobTally;

// The row of a verb, which stays the same.
size_t job_tally_row(JobTally *t, const char *verb);
void job_tally_begin(JobTally *t, size_t row, Argosy__JobState state);
void job_tally_leave(JobTally *t, size_t row, Argosy__JobState state);
void job_tally_end(JobTally *t, size_t row, Argosy__JobState state);
// Nobody knows of open ones any more.
void job_tally_forget_open(JobTally *t);
