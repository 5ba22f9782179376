// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether what a job did can be put back a few units at a time: if it changed the files of one template, or
// of one unit, and nothing else.

#include "rollout-group.h"
#include "undo-list.h"

// Finds the group of units that were judged in this turn. *ret, which is empty, stays so if there is nothing
// to put back. 0; -EINVAL: it cannot, and *ret_why (owned) says why; -ENOMEM.
int undo_rollout_find(const UndoList *list, const ClusterState *state, RolloutGroup *ret, char **ret_why);
