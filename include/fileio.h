// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whole files, read and replaced. These block on the disk: for start-up, tools and the pool, not for a
// running loop.

#include <sys/types.h>
#include <unistd.h>

#include "buf.h"

static inline void closep(int *fd) { // for _cleanup_()
        if (*fd >= 0)
                close(*fd);
}

// Appends the file's bytes to *ret. -EFBIG if it is larger than max_bytes; -ENOENT and the like as open(2)
// and read(2). `dirfd` may be AT_FDCWD.
int file_read(int dirfd, const char *path, size_t max_bytes, Buf *ret);
// The same of an open file, from where it stands; it stays open.
int file_read_fd(int fd, size_t max_bytes, Buf *ret);

typedef enum FileWriteFlags {
        FILE_SYNC = 1 << 0, // survives a power cut: data, then the directory
} FileWriteFlags;

// Writes `path` whole under a temporary name in the same directory, then renames. On error nothing is left
// behind and the old content stands. The temporary name begins with ".#".
int file_replace(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
                 FileWriteFlags flags);

// Removes everything inside a directory, not the directory. Does not follow symbolic links or leave the file
// system.
int dir_empty(int dirfd, const char *path);
// Copies the regular files of one directory into another one, which must be there, and syncs them (not the
// directory). Whatever else is in it is left out.
int dir_copy_files(int dirfd, const char *from, const char *to);
// fsync of a directory by path.
int dir_sync(int dirfd, const char *path);
