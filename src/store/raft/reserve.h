// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Room on the disk that is kept for the moment at which a log is opened.

#include <stdbool.h>
#include <stdint.h>

// A quota of btrfs counts what an operation may use before it begins: some 14 blocks of up to 64 KiB for a
// rename. Measured with blocks of 16 KiB: what renames a file needs more than 64 KiB, and less than 256 KiB.
enum { RESERVE_BYTES = 1024 * 1024 };

// If the disk has less than that left, what is kept there is given back. `dir`: of the log.
void reserve_give(const char *dir);
// Whether so many more bytes may be written there, whatever the figures of the file system say: a quota may
// be full. Makes a file without a name, so a disk that hangs holds the caller. True also if it cannot be
// known.
bool reserve_disk_takes(const char *dir, uint64_t bytes);
// Why not, in words that go on from a path: a quota or the disk is full, and how much has to be free. Asks
// as reserve_disk_takes() does.
const char *reserve_full_words(const char *dir);
// It is kept, from now on, unless the disk has no room for it.
void reserve_keep(const char *dir);
