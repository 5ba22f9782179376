// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this machine's systemd says of unit files that are handed in: it is looked for while the cluster is
// asked, and printed as warnings in the end. Nobody waits long for it, and nothing fails for want of it.

#include <stddef.h>

typedef struct Ctl Ctl;
typedef struct UnitArgs UnitArgs;
typedef struct FileWarnings FileWarnings;

typedef struct HandedFile {
        const char *name; // of a unit or a template; or of an instance, for its template's file
        const char *path; // for messages
        const void *content;
        size_t len;
} HandedFile;

// Starts looking at as many as one run takes. Contents and names stay the caller's, and there until the end.
// NULL: nobody can look, or nothing is to be printed.
FileWarnings *file_warnings_begin(Ctl *ctl, const HandedFile *files, size_t n);
// The same of those that belong to the words of a command line.
FileWarnings *file_warnings_begin_args(Ctl *ctl, const UnitArgs *a);
// Warns of containers that share a network of their node and may come to be on different nodes, as the two
// above do.
void file_warnings_networks(Ctl *ctl, const HandedFile *files, size_t n);
// Waits a moment, prints, and frees it. Takes NULL.
void file_warnings_end(Ctl *ctl, FileWarnings *w);
