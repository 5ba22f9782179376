// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A set of units as a folder: what unit_folder_read() makes the same set of again. Nothing but the disk is
// touched.
//
//      folder_export_lay_out()  which files there are to be, and what argosy.set says
//      folder_export_compare()  what of that the folder has, and what it has beside; whether it may be
//                               written to
//                               the caller fills in the contents of those that differ, and of those that
//                               folder_drop_ins_spread() then adds
//      folder_export_write()    makes it so

#include "argosy.pb-c.h"
#include "buf.h"
#include "hash.h"

typedef struct FolderExportUnit {
        const char *name;
        Hash spec;
        Argosy__Target target;
} FolderExportUnit;

typedef struct FolderExportFile {
        const char *name;
        Hash hash;
        bool differs; // it is not there, or not so, with its drop-ins: `content` is asked for
        bool has_drop_ins; // in the folder
        bool has_unit,
                // the folder has a file for it of this kind (quadlet.h): one of the other kind than
                // `content` goes
                has_container;
        bool split;        // folder_drop_ins_decide(): its drop-ins are files of their own
        Buf content;
        size_t bytes; // of one that does not differ
} FolderExportFile;

// A file that units bring: folder-carried.h.
typedef struct FolderExportCarried {
        char *name; // beneath the folder
        const char *unit; // one of those
        Hash hash;
        bool executable;
        size_t size;
        bool is_here;
        Buf bytes; // to be asked for, unless it is here
} FolderExportCarried;

typedef struct FolderExportNames {
        char **list;
        size_t n, allocated;
} FolderExportNames;

typedef struct FolderExport {
        const char *set;
        const FolderExportUnit *units; // by name; these three are given, and borrowed
        size_t n_units;
        FolderExportFile *files; // by name
        size_t n_files;
        FolderExportCarried *carried; // of those that differ
        size_t n_carried, carried_allocated;
        // files that unit files in the folder name: of those that are replaced or go, and of those that stay
        FolderExportNames found, kept;
        Buf set_file;
        bool set_file_differs;
        bool has_activator; // private
        char **gone; // files of units that the set does not have
        size_t n_gone, gone_allocated;
        char **gone_drop_ins; // units with a folder of drop-ins that goes with no file of the export
        size_t n_gone_drop_ins, gone_drop_ins_allocated;
} FolderExport;

void folder_export_done(FolderExport *e);
#define _cleanup_folder_export_ _cleanup_(folder_export_done)

// Each of these: 0; a negative errno with a sentence appended to `why`; or -ENOMEM.
//
// -E2BIG, -EINVAL: a folder cannot say that.
int folder_export_lay_out(FolderExport *e, Buf *why);
// -ENOTEMPTY: something is there, and no export of this set. A folder that is not there is an empty one.
int folder_export_compare(FolderExport *e, const char *dir, Buf *why);
// Each file is there whole or as it was. After an error, or in the middle, argosy.set is one that is not
// applied.
int folder_export_write(const FolderExport *e, const char *dir, Buf *why);

// Whether there is nothing to write.
bool folder_export_is_there(const FolderExport *e);
// The set that the folder is an export of. -ENOENT: of none; -ENOMEM.
int folder_export_find_set(const char *dir, char **ret);
