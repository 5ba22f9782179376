// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The files of units in an export, where their unit files name them (carried-files.h). Nothing but the disk
// is touched.

#include "folder-export.h"

// Notes the files that the content of `f` names and takes their list out of it; reading the folder makes it
// again. 0; -EINVAL with a sentence appended to `why`, if a folder cannot have them; -ENOMEM.
int folder_carried_note(FolderExport *e, FolderExportFile *f, Buf *why);
// Writes those whose bytes are there, into the directory dirfd; `mode` is that of a unit file. Nothing is
// written through a link. 0 or a negative errno; *ret_name: of the one that failed.
int folder_carried_write(const FolderExport *e, int dirfd, mode_t mode, const char **ret_name);
// Removes those that the folder's former unit files name and no unit of the export has, and folders that are
// empty then. The same.
int folder_carried_drop(const FolderExport *e, int dirfd, const char **ret_name);
void folder_carried_done(FolderExport *e);
