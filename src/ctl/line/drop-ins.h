// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The drop-ins beside a unit file: NAME.d/*.conf, and for an instance those of its template, in systemd's
// order. One of the instance's own directory takes the place of one of its template's that has the same
// name. Whatever else is in these directories does not count, as for systemd.
//
// Only regular files are read, and no link is followed, neither to a directory nor to a file: root that
// applies a stranger's folder hands in nothing but what is in it.

#include <stdbool.h>

#include "buf.h"
#include "unit-parts.h"

typedef struct DropInFolder {
        int dirfd;          // the following is relative to
        const char *dir;    // directory of the unit files, with its slash; "": dirfd itself
        const char *shown;  // the same for messages
        bool only_own;      // what others may write to is refused (own-file.h)
} DropInFolder;

typedef struct DropIns {
        UnitPart *list;     // in order; paths and contents are this object's
        size_t n, allocated;
        bool of_instance;   // some are from the directory of an instance itself
} DropIns;

void drop_ins_done(DropIns *d);
#define _cleanup_drop_ins_ _cleanup_(drop_ins_done)

// Those beside the file `name`, of a unit, a template or a container (quadlet.h). *ret is to be zeroed, and
// is to be ended also after an error. 0; a negative errno with a sentence
// appended to `why`; or -ENOMEM.
int drop_ins_read(const DropInFolder *folder, const char *name, DropIns *ret, Buf *why);
// Whether there is any for that name; what cannot be looked at is not.
bool drop_ins_are_there(int dirfd, const char *name);

// Adds the folders of drop-ins beside the file that are about several units, with `dir` in front: for
// systemd and podman they count for each unit of the type ("service.d") or of a prefix ("web-.service.d"),
// for argosy they count for none. Each once.
int drop_ins_note_shared(int dirfd, const char *dir, const char *file, char ***names, size_t *n,
                         size_t *allocated);
// Makes the unit's content of its unit file `name`, which is in *content, and reads what that needs for it:
// the files of volumes and networks that a container names, unless the text has them. Results as above.
int drop_ins_add_to(DropIns *d, const DropInFolder *folder, const char *name, Buf *content, Buf *why);
