// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the words of a command line mean: which units, and which files on this disk belong to them. No daemon
// is asked.
//
//   web               web.service
//   web@{1..3}        web@1.service web@2.service web@3.service, also when the shell left the braces alone
//   dir/web.service   unit web.service, and its file is dir/web.service
//   dir/web@1         unit web@1.service, and its file is dir/web@1.service, else dir/web@.service
//   dir/web.container unit web.service, and its file is dir/web.container, as Quadlet has it (quadlet.h)
//   web@1             as above in the current directory, if there is such a file, and it is the caller's
//                     own; if
//                     not, the cluster may know the unit
//
// A file comes with the drop-ins beside it (drop-ins.h). An instance with drop-ins of its own has a file of
// its own, made of its template's.

#include <stdbool.h>

#include "buf.h"
#include "carried-sources.h"
#include "map.h"

enum {
        UNIT_ARGS_MAX = 100000, // units in one command
        UNIT_ARGS_FILES_MAX =
                24 * 1024 * 1024, // bytes of all files together; a request must fit into one frame
};

typedef struct UnitArgsFile {
        char *name; // unit or template that this is the file of
        char *path; // where it was found, for messages
        char *key;  // private
        Buf content; // with the drop-ins beside it (unit-parts.h)
        size_t file_len; // private: of that, the unit file alone
        CarriedSources carried; // the files that it names
        bool missing; // looked for and not there
} UnitArgsFile;

typedef struct UnitArgs {
        char **names; // n_names, each once, in the order given, and NULL
        size_t n_names, names_allocated;
        UnitArgsFile **files;
        size_t n_files, files_allocated;
        size_t files_bytes;
        Map by_name, by_path, files_by_name;
        Map files_by_unit; // the file that was found for a name: its own or its template's
        bool here_is_checked, here_is_own; // the directory where bare names are looked for (own-file.h)
        Buf here;                          // if it is not: a clause
        char *alone;       // "web.service.d": the first folder of drop-ins that is here without a unit file
        size_t n_alone;    // so many were found
        char **shared;     // folders of drop-ins beside the files that are about several units: left out
        size_t n_shared, shared_allocated;
        Map besides;       // likewise: that of the unit which it starts or needs, from the same folder
} UnitArgs;

typedef enum UnitArgsFlags {
        UNIT_ARGS_READ_FILES = 1 << 0, // without it a directory in front of a name is only cut off
        UNIT_ARGS_KEEP_GLOBS = 1 << 1, // words with * ? [ are taken as they are
} UnitArgsFlags;

void unit_args_done(UnitArgs *a);
#define _cleanup_unit_args_ _cleanup_(unit_args_done)

// Adds what `word` means. Relative paths begin at dirfd. 0; -EINVAL, -ENOENT, -EPERM, -EFBIG, -E2BIG or what
// open(2) says, with a sentence appended to `why`; -ENOMEM. *a stays valid, but is not to be used after an
// error.
int unit_args_add(UnitArgs *a, const char *word, UnitArgsFlags flags, int dirfd, Buf *why);

// For units whose files were read: also reads, where they stand in the same folder, the file of what a
// timer, path or socket starts, and that of the socket that a service needs. They go with the unit's own
// file, not with the names.
int unit_args_add_besides(UnitArgs *a, int dirfd, Buf *why);

// The files that were found for some of the names, each once. The array is the caller's, the files are
// borrowed. 0 or -ENOMEM.
int unit_args_files_of(const UnitArgs *a, char *const *names, size_t n, const UnitArgsFile ***ret,
                       size_t *ret_n);

// Each file that was found, once, with the first name that it is for: of a template's that may be an
// instance. The array is the caller's, what it points to is borrowed. 0 or -ENOMEM.
typedef struct UnitArgsPair {
        const char *name;
        const UnitArgsFile *file;
} UnitArgsPair;
int unit_args_with_files(const UnitArgs *a, UnitArgsPair **ret, size_t *ret_n);

bool unit_arg_is_glob(const char *word);
