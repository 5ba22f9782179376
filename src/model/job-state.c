// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The words for states of jobs and ends of units, in the order of their numbers: what the leader answers
// with, and what people type behind --state. A number without a word is one of a newer version, or none: it
// has an empty word, and no word reads as it.

#include "job-state.h"

#include <string.h>

#include "macro.h"

static const char *const states[] = {"", "running", "done", "failed", "overtaken", "cancelled", "held"};
static const char *const ends[] = {"ok", "failed", "unplaced", "overtaken", "cancelled"};

const char *job_state_to_string(Argosy__JobState state) {
        return (size_t) state < ELEMENTSOF(states) ? states[state] : "";
}

bool job_state_from_string(const char *word, size_t len, Argosy__JobState *ret) {
        for (size_t i = 1; i < ELEMENTSOF(states); i++)
                if (strlen(states[i]) == len && memcmp(states[i], word, len) == 0) {
                        *ret = (Argosy__JobState) i;
                        return true;
                }
        return false;
}

bool job_state_is_open(Argosy__JobState state) {
        return state == ARGOSY__JOB_STATE__JOB_RUNNING || state == ARGOSY__JOB_STATE__JOB_HELD;
}

const char *unit_end_to_string(Argosy__UnitEnd end) {
        return (size_t) end < ELEMENTSOF(ends) ? ends[end] : "";
}
