// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units have a control group now: the directories below a manager's root (cgroup-path.h). Only slices
// are descended into; what a unit makes inside its own group is its business. A control group is made when a
// unit starts and removed when it is down, so its inode is another one after each restart.

#include <stdint.h>

#include "buf.h"

enum {
        UNIT_CGROUPS_MAX = 200000, // entries; more are cut off
        UNIT_CGROUPS_DEPTH = 32,   // slices in slices
};

typedef struct UnitCgroups {
        Buf rows;
        size_t n;
} UnitCgroups;

// Reads the tree, which blocks for about 0.5 us per unit: for the pool. What vanishes meanwhile is left
// out. Negative errno: the root cannot be read, or -ENOMEM; *ret needs unit_cgroups_done() in any case.
int unit_cgroups_list(const char *root, UnitCgroups *ret);
// The row at *at (begin with 0) and on to the next; false at the end. `ret_id` is never 0.
bool unit_cgroups_next(const UnitCgroups *list, size_t *at, const char **ret_name, uint32_t *ret_id);
void unit_cgroups_done(UnitCgroups *list);
