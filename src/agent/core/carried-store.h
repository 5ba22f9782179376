// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The files of units on this host, below the runtime directory:
//
//      files/HASH, files/HASH.x        each content once, mode 0444 and 0555, root's
//      units/NAME/...                  the folder of a unit: hard links to these, by their names
//
// So the kernel counts who uses a content: one that has no other link is nobody's. A folder is made beside
// the one that is there and takes its place in one step, while the unit is down. Where files change as the
// unit runs (FileChange=reload, none) what is bound has to stay, so the unit's folder and each that is bound
// of it, and those above, are as Kubernetes has them:
//
//      conf/..1/a.conf         the hard link
//      conf/..data -> ..1      the one link that is replaced, by a rename
//      conf/a.conf -> ..data/a.conf
//
// What a crash leaves of either is found by carried_store_sweep(), or by the next change. All are calls of a
// few microseconds a file, but for carried_store_put(), which writes, and what goes over a whole folder:
// those are for the pool.

#include <stdbool.h>

#include "carried-files.h"

typedef struct CarriedRoom {
        uint64_t bytes;
        size_t n; // inodes
} CarriedRoom;

bool carried_store_has(const char *dir, const Hash *hash, bool executable);
// 0; -EBADMSG: the bytes are not those of that hash; -ENOSPC: there is not a quarter left of what the file
// system has; another error.
int carried_store_put(const char *dir, const Hash *hash, bool executable, const void *bytes,
                      size_t len) _warn_unused_;
// Whether those of these files that are not there fit into what may be taken of the file system.
bool carried_store_has_room(const char *dir, const CarriedFiles *files);
// What they take there if none of them is there yet; and whether there is room for so much.
CarriedRoom carried_store_room_of(const CarriedFiles *files);
bool carried_store_has_room_for(const char *dir, const CarriedRoom *room);
// Removes a content that no folder has.
void carried_store_drop(const char *dir, const Hash *hash, bool executable);

typedef struct CarriedFolder {
        const CarriedFiles *files;
        const FileSource *sources;
        size_t n_sources;
        bool stays; // files change as the unit runs
} CarriedFolder;

// The folder of the unit has these files and no others. One that has them already is left as it is. 0;
// -ENODATA: one of them is not in the store; another error.
int carried_folder_put(const char *dir, const char *unit, const CarriedFolder *folder) _warn_unused_;
// Whether it has them all, and they are those of the store.
bool carried_folder_has(const char *dir, const char *unit, const CarriedFiles *files);
// The directory of all units' folders, to be closed. -ENOENT: no unit of this host has ever had one; another
// error.
int carried_folders_open(const char *dir) _warn_unused_;
// With what is left of one that could not be made. 0, also if there is none.
int carried_folder_remove(int folders, const char *unit) _warn_unused_;
// Appends the contents that no folder has, with nothing said of their sizes. What cannot be read is left
// out.
void carried_store_list_unused(const char *dir, CarriedFiles *ret);
// Removes what folders there are of units that are not `kept`, and contents of nobody. In those that are, no
// link leads nowhere.
void carried_store_sweep(const char *dir, bool (*kept)(const char *unit, void *userdata), void *userdata);
