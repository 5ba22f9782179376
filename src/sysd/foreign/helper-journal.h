// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a helper that reads a journal answers: one JournalSource, whose batches it hands over as they are
// asked for.

#include "argosy.pb-c.h"
#include "journal-source.h"

typedef struct HelperJournal {
        JournalSource *source; // NULL: nothing has been asked
        uint64_t woken_us;     // when it was woken last; 0: never
} HelperJournal;

// Before a container is entered: what the C library and sd-journal would open later, they open now, and
// standard error leads nowhere.
int helper_journal_prepare(void);
// Fills in `reply`, whose lines are the journal's until the next call; also its error. Waits, if that is
// asked, until there is a line. Negative errno: there is no answer, since `link` was closed meanwhile
// (-ECONNRESET) or the request is none (-EBADMSG).
int helper_journal_answer(HelperJournal *j, const Argosy__HelperRequest *q, int link,
                          Argosy__HelperReply *reply);
void helper_journal_done(HelperJournal *j);
