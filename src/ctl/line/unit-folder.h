// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A folder of unit files: which units it is about, what each is to have and to be. Nothing but the disk is
// asked.
//
//      NAME.service ...  a unit that is to be launched, or to be loaded if it has no [Install] and a timer,
//                        socket, path or automount of the folder activates it; a template, which its
//                        instances have their file from
//      NAME.service.d    drop-ins of it (drop-ins.h), which are part of its content. Those of an instance
//                        that has no file of its own make
//                        one for it of its template's, if the folder names the instance
//      web.conf ...      what a unit file names by File= (carried-sources.h), which is part of the unit's
//                        content
//      argosy.set        see set-file.h: the set's name, instances, and what units are to be
//
// What these bring along (unit-brings.h) is a unit of the folder, too, to be loaded if one that brings it is
// to be loaded.
//
// Hidden files do not count, nor what is no unit file and begins with README or LICENSE; whatever else is
// there is named.

#include "buf.h"
#include "carried-sources.h"
#include "hash.h"
#include "map.h"
#include "set-file.h"
#include "unit-file.h"

#define UNIT_FOLDER_SET_FILE "argosy.set"

// What something of that name is to a folder.
typedef enum UnitFolderEntry {
        UNIT_FOLDER_ENTRY_NONE, // it does not count
        UNIT_FOLDER_ENTRY_SET_FILE,
        UNIT_FOLDER_ENTRY_UNIT,
        UNIT_FOLDER_ENTRY_DROP_INS,
        UNIT_FOLDER_ENTRY_OTHER,
} UnitFolderEntry;
UnitFolderEntry unit_folder_entry(const char *name);

typedef struct UnitFolderFile {
        char *name; // of the unit, or the template
        char *file; // its name in the folder: another one if it is a container's (quadlet.h)
        char *path; // for messages
        Buf content; // with the drop-ins beside it (unit-parts.h)
        size_t file_len; // private: of that, the unit file alone
        CarriedSources carried; // the files that it names
        bool only_drop_ins; // the folder has no file of that name: it is made of the template's
        Hash hash;
        UnitFile *parsed; // NULL: it is not valid, and reading goes on
} UnitFolderFile;

typedef struct UnitFolderUnit {
        const char *name;
        // its own, or its template's; NULL: the folder has none, and it is brought
        const UnitFolderFile *file;
        Argosy__Target target;
        bool from_template;
        bool brought; // the folder does not name it: others activate it, or are to be loaded with it
        bool unsaid; // private: neither argosy.set nor its [Install] says that it is to run
        bool activated; // private: `unsaid`, and by another unit of the folder
} UnitFolderUnit;

typedef struct UnitFolder {
        SetFile set_file;
        UnitFolderFile **files;
        UnitFolderUnit *units; // by name
        size_t n_files, files_allocated, n_units, units_allocated;
        char **ignored; // names of what is no unit file
        size_t n_ignored, ignored_allocated;
        char **directories; // private: of drop-ins
        size_t n_directories, directories_allocated;
        char **brought; // names of units
        size_t n_brought, brought_allocated;
        size_t bytes;
        Map files_by_name, units_by_name; // the latter to anything
        // NULL: the first thing that is wrong ends the reading. Else it is told here, and the rest is read.
        void (*problem)(const char *sentence, void *userdata);
        void *problem_data;
} UnitFolder;

void unit_folder_done(UnitFolder *f);
#define _cleanup_unit_folder_ _cleanup_(unit_folder_done)

// *ret is to be zeroed but for `problem`, and is to be ended also after an error. 0; a negative errno with a
// sentence appended to `why`; or -ENOMEM.
int unit_folder_read(const char *path, UnitFolder *ret, Buf *why);
