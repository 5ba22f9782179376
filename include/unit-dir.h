// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The unit files and drop-ins that argosy writes for one systemd manager, in batches by rename, so that PID 1 finds them without a
// reload: after each batch the directory's mtime is set strictly increasing (kernels before 6.13 tick at about 4 ms).
//
//   DIR/web.service                          content of the spec
//   DIR/web@.service                         content of the template's spec
//   DIR/web@2.service                        hard link to older content, while web@2 still belongs to the older revision
//   DIR/web.service.d/50-argosy.conf         After=argosy.target, and Slice= where the unit is spread (web@.service.d/ for all instances)
//
// Files of ours are known from the ledger, never guessed from names.

#include <stdbool.h>

#include "hash.h"

typedef struct UnitDir UnitDir;

typedef struct UnitDirItem {
        const char *name;
        bool remove;
        bool from_template;     // `content` is that of the template; the instance gets no file of its own unless the template differs
        const void *content;
        size_t len;
        Hash spec;
        const char *slice;      // NULL: none of ours
        int error;              // out: 0 or negative errno of this item
} UnitDirItem;

// dir: e.g. /run/systemd/system. foreign_dirs: NULL-terminated, searched by unit_dir_foreign(); NULL: systemd's usual ones.
int unit_dir_new(const char *dir, const char *const *foreign_dirs, UnitDir **ret);
UnitDir *unit_dir_free(UnitDir *d);
DEFINE_CLEANUP(UnitDir *, unit_dir_free)

// Tells what exists already (from the ledger after a restart).
int unit_dir_adopt(UnitDir *d, const char *name, bool from_template, const Hash *spec);
// Writes or removes all items, then advances the directory's mtime once. Errors are per item; the others are done.
void unit_dir_apply(UnitDir *d, UnitDirItem *items, size_t n);
// A file of that name (or a template, a mask) that is not ours: its path (malloc'd) or NULL.
char *unit_dir_foreign(UnitDir *d, const char *name);
