// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units of a job that has ended are to be asked for again, and by which verb. Pure, and read like
// job-changes.h: a question, its answer, the next question.
//
// A job names the first 1,000 units that did not end well, and counts the others. Those others are known if
// they are all that the job changed and says no end of; else some of these ended well, nobody has written
// down which, and it is refused: a restart that went well is not to be done again.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "map.h"

enum { JOB_RETRY_WHY_SIZE = 320 };

typedef struct JobRetryNames {
        char **names;
        size_t n, allocated;
        Map known;
} JobRetryNames;

// Zero-initialised is empty.
typedef struct JobRetry {
        uint64_t number;
        char *state, *verb;        // NULL: nothing was said of it
        size_t n_bad;              // units that did not end well, by the job's counters
        size_t n_reported;             // units of which it names the end
        bool cut;                  // not all units that it changed are named
        JobRetryNames bad, unsaid; // units; and those of which no end is known
        size_t n_said;             // of those that it changed
        uint32_t n_units, more;
        bool read, answered;
} JobRetry;

void job_retry_begin(JobRetry *r, uint64_t number);
// Makes the next question. False: all was read.
bool job_retry_next(JobRetry *r, Argosy__Request *ret, Argosy__Request__ListJobs *ret_list);
// A response to it without an error. 0 or -ENOMEM.
int job_retry_take(JobRetry *r, const Argosy__Response *response);
// When all was read. 0: `bad` has all that is to be asked for again, with *ret_verb; -EINVAL, and `why` for
// people; -ENOMEM.
int job_retry_judge(JobRetry *r, Argosy__Verb *ret_verb, char why[static JOB_RETRY_WHY_SIZE]);
void job_retry_done(JobRetry *r);
