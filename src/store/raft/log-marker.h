// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Files that mark a change of the log as under way, for changes that are several changes of names to
// libraft. After a crash in between, the names mean something else; the next start finishes what was
// interrupted.
//
// Guard 3, "install-marker": an installed snapshot and the log that it replaces must change together. When
// a follower gets a whole snapshot, libraft makes it durable and then unlinks the segments, all of them. A
// crash in between leaves both; after the next start new entries are numbered behind the snapshot but read
// back behind the old segments, so that entries which the follower has acknowledged can vanish at the
// start after that. A segment that ends behind the snapshot has entries that were never committed: if the
// follower had agreed at the snapshot's index, it would have needed none.
//
// Guard 20, "truncation-marker": libraft writes a segment that is to lose its end anew, and then unlinks
// that one and those behind it, the oldest first. A crash in between leaves a gap, which libraft calls
// damage.
//
// Format: names that libraft does not know, which it ignores, in the log's directory; an index in decimal
// and a newline: that of the snapshot, or the first one that is to go. Synced before the change begins,
// removed and synced before anything is written behind it.
//
// These block on the disk. Failures: negative errno. Test: store/log-marker, store/install-crash,
// store/numbers.

#include <stdint.h>

#define INSTALL_MARKER "install-marker"
#define TRUNCATION_MARKER "truncation-marker"

int log_marker_put(const char *dir, const char *marker, uint64_t index);
int log_marker_remove(const char *dir, const char *marker);

// At start, before libraft reads the directory. An install whose snapshot is complete (data and .meta) is
// finished: all segments are unlinked. If the snapshot is not complete, the install never happened. A
// truncation is finished as far as whole segments have to go; segments_undo_truncation() does the rest. No
// marker is there afterwards. 1: an interrupted install was finished; 0: nothing of that kind.
int log_markers_finish(const char *dir);
