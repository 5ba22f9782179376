// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The words of [X-Argosy] File=: what a unit brings, and where it sees that.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"
#include "macro.h"

enum {
        CARRIED_FILES_MAX = 256, // of one unit, and as many File=
        CARRIED_NAME_MAX = 255,  // bytes of a name, and of a DESTINATION
};

#define CARRIED_FILES_UNITS "/run/argosy/units" // in which each unit has its folder

// One File=.
typedef struct FileSource {
        char *source, *destination; // NULL: it is only in the unit's folder
        unsigned line;
} FileSource;

bool file_source_is_pattern(const FileSource *s);
// What of the unit's folder is bound: the file, the folder, or the one in which the pattern is. The length
// of that, in front of `source`.
size_t file_source_bound_len(const FileSource *s);
// Whether it brings the file of that name.
bool file_source_covers(const FileSource *s, const char *name);
// Parses the value of a line and appends what it names. `container`: the destinations are in a container. 0;
// -EINVAL and a clause in *ret_why; -ENOMEM.
int file_sources_parse(const char *value, unsigned line, bool container, FileSource **list, size_t *n,
                       char **ret_why) _warn_unused_;
void file_sources_drop(FileSource *list, size_t *n);
// Whether what is bound over this path of a node, to which a destination leads there by a link, hides what
// systemd or every program needs. No destination is such a path by its own name.
bool file_destination_hides_system(const char *path);
// For the unit of that name: a new string; NULL: out of memory.
char *file_source_destination(const FileSource *s, const char *name);
// What depends on the name, of the files of one unit: where they are to be can be, and no place lies in
// another one. 0; -EINVAL and *ret_why, a clause; -ENOMEM.
int file_sources_check_name(const FileSource *sources, size_t n, bool container, const char *name,
                            char **ret_why) _warn_unused_;

// Whether a file may be called so: a path without "." and "..", of letters, digits and ._@+=,~- alone.
bool carried_file_name_is_valid(const char *name);
// "restart", "reload", "none".
const char *file_change_to_string(Argosy__FileChange change);
