// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Counts of jobs by verb and state, for /metrics (job-tally.h): open ones by state, ended ones since the
// start. job_tally_row() once per job -> job_tally_begin(), _leave(), _end(). At most JOB_TALLY_ROWS verbs;
// the last row is "other", for all further ones. Nothing allocates or fails.

#include "job-tally.h"

#include <assert.h>
#include <string.h>

#include "macro.h"
#include "str.h"

#define OTHERS "other"

size_t job_tally_row(JobTally *t, const char *verb) {
        const char *name = *verb ? verb : OTHERS;
        char word[JOB_TALLY_VERB];
        size_t i = 0;

        if (!str_copy(word, sizeof(word), name))
                str_fit(word, sizeof(word), "%s", name);
        while (i < t->n && !streq(t->rows[i].verb, word))
                i++;
        if (i < t->n)
                return i;
        if (t->n >= JOB_TALLY_ROWS - 1) { // the last one is that of all others
                i = JOB_TALLY_ROWS - 1;
                strcpy(word, OTHERS);
        }
        strcpy(t->rows[i].verb, word);
        t->n = i + 1;
        return i;
}

void job_tally_begin(JobTally *t, size_t row, Argosy__JobState state) {
        t->rows[row].open[state]++;
}

void job_tally_leave(JobTally *t, size_t row, Argosy__JobState state) {
        assert(t->rows[row].open[state] > 0);
        t->rows[row].open[state]--;
}

// A state of a later version counts as unknown.
void job_tally_end(JobTally *t, size_t row, Argosy__JobState state) {
        t->rows[row].ended[(unsigned) state < JOB_STATES ? state : ARGOSY__JOB_STATE__JOB_UNKNOWN]++;
}

void job_tally_forget_open(JobTally *t) {
        for (size_t i = 0; i < t->n; i++)
                memset(t->rows[i].open, 0, sizeof(t->rows[i].open));
}
