// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a Change would do, in words, instead of doing it. Pure: what change_plan() put into a draft of its
// own is compared with the records as they are.

#include "cluster-state.h"

// `planned` is change_plan()'s response, `batch` what it drafted. Gives every unit that has no error a
// message, and a node if it would be placed on one; appends units that would be brought along. `node_name`
// may return NULL. 0 or -ENOMEM.
int dry_run_describe(const ClusterState *state, const Argosy__LogBatch *batch, Argosy__Response *planned,
                     const char *(*node_name)(uint32_t node, void *userdata), void *userdata);
