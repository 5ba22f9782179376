// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is said of a change of which nothing more will be heard here, since argosyd ends or nobody leads any
// more. Many clients ask again when Retry-After says so; so that is said only if nothing is done twice by
// it. Pure.
//
//      nobody was asked for it                 nothing was changed             503, Retry-After
//      a leader may have it                    it may have been carried out    504
//      and so may one, but it has a key        asked again it is done once     503, Retry-After
//      it is a job, which was waited for       it was taken                    202, Location: as if nobody
//                                              had waited
//
// Of many operations the lines say so, each of its own.

#include <stdbool.h>
#include <stdint.h>

typedef struct HttpOutcome {
        bool writes, may_be_done, keyed; // may_be_done: it was asked for, and there was no answer
        uint64_t job;                    // that it has become; 0: none
} HttpOutcome;

// The status of a call that fails: EINPROGRESS, that nobody knows what became of it, is EAGAIN with a key.
int http_outcome_status(int status, bool keyed);
// With which it fails when argosyd ends, and why (borrowed).
int http_outcome_at_end(const HttpOutcome *o, const char **ret_why);
// The document of a job of which only that is known, and why (NULL: nobody says); to be freed. NULL: out of
// memory.
char *http_outcome_taken(uint64_t job, const char *message);
