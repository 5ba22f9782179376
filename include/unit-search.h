// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the directories in which systemd looks for unit files say of units that it has dropped from its
// memory: it would tell about them only after loading them again.
//
// A UnitSearch watches the directories (inotify) and names what was touched; what is there now is read by
// unit_search_run(), in the pool, for the names that somebody cares about. As systemd does it: the first
// directory that has the name counts, and for an instance that has no file of its own the first that has the
// template's. An empty file, or a link to /dev/null, masks.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"

typedef struct UnitSearch UnitSearch;

typedef enum UnitPresence {
        UNIT_ABSENT,
        UNIT_EMPTY,
        UNIT_PRESENT,
} UnitPresence;

// Pure. What one directory after the other has under the name, and under that of the template (NULL: no
// instance): LOADED, MASKED or NOT_FOUND.
Argosy__LoadState unit_search_judge(const UnitPresence *of_name, const UnitPresence *of_template, size_t n);

// The same for many names, from the disk. Blocks. 0 or -ENOMEM.
int unit_search_run(const char *const *dirs, char *const *names, size_t n, Argosy__LoadState *ret);

typedef struct UnitSearchOps {
        // A file of that name came, went or was replaced. `present`: in `own_dir`, where there is a file
        // with content now, as our own writes leave it.
        void (*touched)(const char *name, bool present, void *userdata);
        // Any may have been: the kernel could not keep up.
        void (*lost)(void *userdata);
        void (*closed)(void *userdata);
} UnitSearchOps;

// `dirs`, NULL-terminated, and `own_dir`, which is one of them, must outlive it. What cannot be watched, as
// it is not there, is tried again by unit_search_again(). 0 or negative errno.
int unit_search_new(uv_loop_t *loop, const char *const *dirs, const char *own_dir, const UnitSearchOps *ops,
                    void *userdata, UnitSearch **ret);
void unit_search_again(UnitSearch *s);
// `closed` follows.
void unit_search_close(UnitSearch *s);
