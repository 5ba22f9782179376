// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Guard 3: an installed snapshot and the log that it replaces must change together.
//
// When a follower gets a whole snapshot, libraft makes it durable and then unlinks the old segments. A crash
// in between leaves both; after the next start new entries are numbered behind the snapshot but read back
// behind the old segments, so that entries which the follower has acknowledged can vanish at the start after
// that. Therefore a marker file stands in the log's directory while an install is under way, and the next
// start finishes what was interrupted.
//
// Marker: file "install-marker" in the log's directory (libraft ignores names that it does not know), the
// snapshot's index in decimal and a newline. Synced before the install begins, removed and synced before the
// install is reported done.
//
// These block on the disk. Test: store/install-marker, store/install-crash.

#include <stdint.h>

#define INSTALL_MARKER "install-marker"

int install_marker_put(const char *dir, uint64_t index);
int install_marker_remove(const char *dir);

// At start, before libraft reads the directory. If there is a marker and its snapshot is complete (data and
// .meta), unlinks closed segments that end at or before its index and all open segments. If the snapshot is
// not complete, the install never happened. Either way the marker is gone afterwards. 1: an interrupted
// install was finished; 0: nothing to do; negative errno.
int install_marker_finish(const char *dir);
