// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Lines of one unit from the journal of this machine, the newest ones and, if wanted, those that follow. All
// of it blocks: for a thread of the pool, or for a process that has nothing else to do. Of a user manager
// only what journald itself says to be that user's is read: a name in the journal is anybody's.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "macro.h"

enum {
        JOURNAL_BATCH_BYTES = 32 * 1024, // read at a time, and at most one message more
        JOURNAL_LINE_MAX = 4096,         // bytes of a message; the rest is cut off
};

// The units of the system manager; another uid: those of that user's manager.
#define JOURNAL_SYSTEM ((uid_t) -1)

typedef struct JournalSource JournalSource;

typedef struct JournalQuestion {
        uid_t manager;    // or JOURNAL_SYSTEM
        uint64_t asker;   // of all questions of one asker one is read at a time; 0: no asker
        const char *unit; // borrowed while the source is opened
        unsigned n_lines; // the newest so many, oldest of them first
        bool follow;
        size_t batch_bytes; // 0: JOURNAL_BATCH_BYTES
        // Not 0: of what was written in this last time, the `n_lines` messages that say why the unit failed
        // (journal-cause.h), and a few further lines of each. In one batch; `follow` counts for nothing.
        uint64_t cause_within_us;
} JournalQuestion;

typedef enum JournalRead {
        JOURNAL_MORE, // there may be more
        JOURNAL_END,  // all that there is at present has been read
} JournalRead;

// -EACCES: not one file of the journal may be read by who we are.
int journal_source_open(const JournalQuestion *q, JournalSource **ret);
JournalSource *journal_source_close(JournalSource *s);
static inline void journal_source_closep(JournalSource **s) {
        journal_source_close(*s);
}
// Readable when there may be something to read behind JOURNAL_END. -1: it does not follow.
int journal_source_fd(const JournalSource *s);
// Goes on where it stood until there is a batch: JournalRead, or negative errno; what was read before an
// error counts. *ret: the lines, formatted like journalctl's short output; the source's, until the next call
// of this or the following.
int journal_source_read(JournalSource *s, char ***ret, size_t *ret_n);
void journal_source_drop_lines(JournalSource *s);

// One message as journalctl's short output has it: "Nov 21 02:10:56 host ident[pid]: text", in local time.
// `pid` may be NULL. Bytes that are not printable text make it a note about their number. Appends one string
// for each line of the text, at most `max`; returns how many, or -ENOMEM.
int journal_format(uint64_t at_us, const char *host, const char *ident, const char *pid, const char *text,
                   size_t len, char **ret, size_t max);
