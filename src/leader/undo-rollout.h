// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether what a job did can be put back a few units at a time: if it changed the files of one template, or of one unit, and
// nothing else.

#include "undo-list.h"

typedef struct UndoRollout {
        char *name;            // of the template, or the unit; NULL: there is nothing to put back
        const SpecEntry *spec; // that it is to have
} UndoRollout;

void undo_rollout_done(UndoRollout *r);
// Of units that were judged. 0; -EINVAL: it cannot, and *ret_why (owned) says why; -ENOMEM.
int undo_rollout_find(const UndoList *list, UndoRollout *ret, char **ret_why);
