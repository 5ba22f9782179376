// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The files that come with a unit: what [X-Argosy] File= names. Pure.
//
// They are no part of the unit's text. The text has a manifest of them, which is its last drop-in, so that
// the SHA-256 of the text is also that of all that comes with it, and so that systemd finds the settings
// wherever it finds the unit file, whichever revision of a template that is:
//
//      # web.service.d/~argosy.conf
//      [Service]
//      Environment=ARGOSY_FILES=/run/argosy/units/%n
//      BindReadOnlyPaths=/run/argosy/units/%n/web.conf:/etc/web/web.conf
//      TemporaryFileSystem=/dev/argosy:mode=0700
//      BindReadOnlyPaths=/etc/web/web.conf:/dev/argosy/0:norbind
//      [Unit]
//      AssertPathExists=/etc/web/web.conf
//
//      # mode, bytes, SHA-256 and name of each file
//      # 0444 1234 (64 hex digits) web.conf
//
// Nobody writes that by hand: carried_files_compose() does, and what comes in is refused if it is anything
// else than what that would make of the rest of the text and of the list. A name is the file's path beneath
// the folder of the unit file, and beneath the unit's folder on a node.

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "file-sources.h"
#include "hash.h"
#include "unit-file.h"
#include "unit-parts.h"

enum {
        CARRIED_FILE_MAX = 512 * 1024,  // bytes of one
        CARRIED_UNIT_MAX = 768 * 1024,  // of all of a unit with its text, since an entry of the log has 1
                                        // MiB
};

#define CARRIED_FILES_DROP_IN UNIT_PART_LAST // sorts behind what people name theirs

typedef struct CarriedFile {
        char *name; // "web.d/web.conf"
        bool executable; // 0555; else 0444
        size_t size;
        Hash hash; // of its content
} CarriedFile;

typedef struct CarriedFiles {
        CarriedFile *list; // sorted by name
        size_t n, allocated;
} CarriedFiles;

void carried_files_done(CarriedFiles *c);
#define _cleanup_carried_files_ _cleanup_(carried_files_done)

// Adds a file behind the others; carried_files_compose() sorts them. 0 or -ENOMEM.
int carried_files_add(CarriedFiles *c, const char *name, bool executable, size_t size,
                      const Hash *hash) _warn_unused_;
const CarriedFile *carried_files_find(const CarriedFiles *c, const char *name); // of a sorted one
// Bytes of all of them.
size_t carried_files_bytes(const CarriedFiles *c);

// Calls `each` for every file that came (`before` NULL), went (`after` NULL), or has other bytes or another
// mode, by names; both are sorted. What that returns below 0 ends it and is returned.
int carried_files_difference(const CarriedFiles *before, const CarriedFiles *after,
                             int (*each)(const CarriedFile *before, const CarriedFile *after,
                                         void *userdata),
                             void *userdata);

// The list in a content; none: an empty one. *ret is to be zeroed, and to be ended also after an error. 0,
// -EBADMSG or -ENOMEM.
int carried_files_read(const void *content, size_t len, CarriedFiles *ret) _warn_unused_;
// The bytes of the content without the manifest: all of them, if it has none.
size_t carried_files_text_len(const void *content, size_t len);
// Appends the manifest of these files to the text of the unit or template `name`, of which `file` was
// parsed. 0; -EINVAL and *ret_why, where a manifest cannot be last; -ENOMEM.
int carried_files_compose(const char *name, const UnitFile *file, CarriedFiles *c, Buf *text,
                          char **ret_why) _warn_unused_;
// Whether both have files, and differ in the list of these alone: to systemd they say the same.
bool carried_files_same_settings(const void *a, size_t a_len, const void *b, size_t b_len);
// What is done about a unit that runs with the one content and is to have the next one: what that asks for
// (FileChange=), if they differ in their files alone; else RESTART.
Argosy__FileChange carried_files_change(const void *content, size_t len, Argosy__FileChange asked,
                                        const void *next, size_t next_len);
// Whether a content that comes in has the manifest that it is to have, and what File= demands can be. 0;
// -EINVAL and *ret_why = "PATH:LINE: reason", as unit_file_parse() has it, for the content of the unit or
// template `name` from which `file` was parsed; -ENOMEM.
int carried_files_check(const char *path, const char *name, const void *content, size_t len,
                        const UnitFile *file, char **ret_why) _warn_unused_;
// The same of what depends on the name: only services have files. `ret_why` is a clause.
int carried_files_check_name(const UnitFile *file, const char *name, char **ret_why) _warn_unused_;


// The folders of the unit's that are bound somewhere, "" for all of it, and those above them: what stays
// when files change as the unit runs. Calls `each` for each of them, some more than once, those above before
// those in them; what that returns below 0 ends it and is returned.
int carried_folders_that_stay(const FileSource *sources, size_t n, const CarriedFiles *c,
                              int (*each)(const char *folder, size_t len, void *userdata), void *userdata);
