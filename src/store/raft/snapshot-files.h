// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Guard 28: libraft passes over a snapshot that it cannot read, and begins with the one before it. Entries
// that this server has acknowledged may be in the newer one alone; and if no closed segment is there, it
// gives those of the open ones numbers behind the older one. So the newest must be the one that it reads.
//
// These block on the disk. Test: store/numbers.

#include <stdbool.h>
#include <stdint.h>

typedef struct SnapshotName {
        unsigned long long term, index, stamp;
} SnapshotName;

// Whether a file of that name is a snapshot's description, and of which one.
bool snapshot_is_meta(const char *name, SnapshotName *ret);
// Of the snapshot that libraft would read first; 0: there is none. -EBADMSG: its description is damaged.
// Negative errno.
int snapshot_files_newest(const char *dir, uint64_t *ret_index);
