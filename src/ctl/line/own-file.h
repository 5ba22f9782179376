// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A file that nobody has named: whether it is the caller's to take.

#include "buf.h"

// Whether what stands in the directory may be taken without asking: it and all above it belong to the caller
// or to root, and no other user may write to it. The caller is the user of this program, and under sudo also
// the user that called sudo. A group that is one user's alone may write; a directory above may be writable
// by all if it is sticky. 0; -EPERM with a clause in `why`: "others may write to /tmp"; another error: that
// cannot be told.
int own_directory_check(int dirfd, Buf *why);
// Opens a file in a directory for which own_directory_check() has said 0, if the file and what links to it
// are the caller's in the same way. A descriptor; -ENOENT: there is no such file, or it is none; -EPERM and
// `why` as above.
int own_file_open(int dirfd, const char *name, Buf *why);
