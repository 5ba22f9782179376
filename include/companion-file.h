// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Template files that stand beside units of argosy's because systemd may start instances of them for these
// (OnFailure=, OnSuccess=, Accept=yes). No unit of the cluster is made from such a file, and no ledger has
// it: its first line says whose it is. A file without that line, here or elsewhere, is somebody's own, and
// is left as it is.

#include <stdbool.h>
#include <stddef.h>

#define COMPANION_FILE_MARK \
        "# Written by argosyd for units that start instances of this; it goes with the last of them.\n"

typedef enum CompanionFile {
        COMPANION_AS_IT_WAS, // it is there already, or somebody else's is
        COMPANION_NEW,
        COMPANION_REPLACED, // what systemd has in memory of it is old
} CompanionFile;

// CompanionFile or negative errno. `search_dirs`: NULL-terminated, other directories of unit files; NULL:
// none.
int companion_file_put(const char *dir, const char *const *search_dirs, const char *name,
                       const void *content, size_t len);
// 0, also if it is not there, or is somebody else's; or negative errno.
int companion_file_drop(const char *dir, const char *name);
// Whether that file of `dirfd` is one.
bool companion_file_is(int dirfd, const char *name);
// Calls `each` for all in the directory. 0 or negative errno.
int companion_files_foreach(const char *dir, void (*each)(const char *name, void *userdata), void *userdata);
