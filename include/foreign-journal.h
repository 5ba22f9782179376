// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Lines of one unit from the journal of a container, of which nothing is opened from here: a helper reads it
// inside. One reader, one helper, for as long as somebody wants lines; of one unit after the other, if need
// be.

#include "journal-source.h"
#include "helper-link.h"

typedef struct ForeignJournal ForeignJournal;

typedef struct JournalOps {
        // In order. Borrowed.
        void (*lines)(char **lines, size_t n, void *userdata);
        // All that there was has been handed over, and more is waited for. Each time anew, while following.
        // May be NULL.
        void (*read)(void *userdata);
        // 0: there are no more (never while following). -EACCES: not one file of the journal may be read by
        // who we are. -ETIMEDOUT, -EBADMSG, -ECONNRESET: of a helper, see HelperOps. Nothing is called after
        // it, before another question.
        void (*ended)(int error, void *userdata);
} JournalOps;

// bytes of one; in one answer
enum { FOREIGN_LINE_MAX = JOURNAL_LINE_MAX + 1024, FOREIGN_LINES_MAX = 16 * 1024 };

// config->mode is HELPER_JOURNAL, q->manager JOURNAL_SYSTEM. Callbacks fire from the loop, never before
// return.
int foreign_journal_new(const HelperConfig *config, const JournalQuestion *q, const JournalOps *ops,
                        void *userdata, ForeignJournal **ret);
// After ended(0): the same helper, the same callbacks, another unit. -EPIPE: the helper has ended meanwhile,
// or with an error; then nothing has changed.
int foreign_journal_again(ForeignJournal *j, const JournalQuestion *q);
// As journal_reader_hold() and journal_reader_close(), which call these. `closed` may be called before
// return.
void foreign_journal_hold(ForeignJournal *j, bool hold);
void foreign_journal_close(ForeignJournal *j, void (*closed)(void *userdata), void *userdata);
