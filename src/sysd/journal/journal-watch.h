// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// When a journal has to be read again: its directories, watched by our own inotify. sd-journal has watches,
// too, but sets them by way of /proc/self, where a process that has entered a container's file system
// without its processes has no entry.

#include "macro.h"

typedef struct JournalWatch JournalWatch;

typedef enum JournalChange {
        JOURNAL_AS_IT_WAS,
        JOURNAL_LONGER,      // something was added to its files
        JOURNAL_OTHER_FILES, // there are others: the reader has to open it again
} JournalChange;

// Directories that do not exist are not watched; journal_watch_again() looks for them once more. The list
// ends with NULL and is borrowed for as long as the watch lives.
int journal_watch_new(const char *const *dirs, JournalWatch **ret);
JournalWatch *journal_watch_free(JournalWatch *w);
static inline void journal_watch_freep(JournalWatch **w) {
        journal_watch_free(*w);
}
// Before the journal is opened again, so that nothing is missed in between.
int journal_watch_again(JournalWatch *w);
// Readable when something has changed.
int journal_watch_fd(const JournalWatch *w);
// JournalChange since the last call, or negative errno. Takes a limited number of events, so that a flood of
// them does not hold the caller; then the descriptor stays readable.
int journal_watch_read(JournalWatch *w);
