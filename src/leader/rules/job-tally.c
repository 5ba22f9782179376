// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See job-tally.h. A row is looked for once for each job, among a few dozen.

#include "job-tally.h"

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
        t->rows[row].open[state]--;
}

// The log may say what this version does not know.
void job_tally_end(JobTally *t, size_t row, Argosy__JobState state) {
        t->rows[row].ended[(unsigned) state < JOB_STATES ? state : ARGOSY__JOB_STATE__JOB_UNKNOWN]++;
}

void job_tally_forget_open(JobTally *t) {
        for (size_t i = 0; i < t->n; i++)
                memset(t->rows[i].open, 0, sizeof(t->rows[i].open));
}
