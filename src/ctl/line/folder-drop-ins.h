// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// An export's drop-ins: which contents become a unit file with a folder of drop-ins beside it, and these
// folders on the disk.
//
// A template's folder counts for the instances that have files of their own, too. So whether it can be there
// is a question about a family, a template and these instances: if some content would not be read again as
// it is, each of the family is written as one file, in which its parts stand behind each other; that is the
// same content (unit-parts.h).

#include <stdbool.h>

#include "folder-export.h"
#include "unit-parts.h"

// Marks all files of a family in which one file differs and one has drop-ins, here or there. *ret_more: some
// now differ that did not, and their contents have to be asked for. 0 or -ENOMEM.
int folder_drop_ins_spread(FolderExport *e, bool *ret_more);
// Whether a part is the file of another container: beside its unit's file in the folder that is of the other
// unit.
bool folder_part_is_unit(const UnitPart *part);
// Decides which of those that differ are split, when all their contents are there. 0 or -ENOMEM.
int folder_drop_ins_decide(FolderExport *e);
// What the unit file of one that differs is: all of its content, or without its drop-ins.
void folder_drop_ins_file(const FolderExportFile *f, Buf *ret);
// Makes the folder of drop-ins beside the file `name`, of a unit or of a container, what the export says of
// it: in the directory dirfd, files with that mode. An empty one
// goes, unless something else is in it; what is no drop-in stays. Nothing is written through a link:
// -ENOTDIR.
int folder_drop_ins_write(const FolderExport *e, const char *name, int dirfd, mode_t mode);
