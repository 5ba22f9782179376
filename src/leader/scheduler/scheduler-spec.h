// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What options of a unit file and records of hosts are to the Placement (placement.h).

#include "cluster-state.h"
#include "placement.h"
#include "unit-file.h"

// Said of a unit that demands more kinds of things than the cluster can count at a time.
#define SCHEDULER_UNCOUNTABLE \
        "there are as many kinds of resources and patterns of conflicts in this cluster as it can count"

// The class of a unit of this name with these options: a reference, for the caller to give back. *ret_new:
// there is a new kind of resource, so what hosts offer must be told again.
// -EINVAL: more terms than there may be, -ENOSPC: more kinds of resources or globs than the cluster may
// have.
int scheduler_class(Placement *p, const char *name, const UnitOptions *options, uint32_t *ret,
                    bool *ret_new) _warn_unused_;
// *given: what it was given last, 0 for nothing; nothing is done if that is the same.
void scheduler_label_node(Placement *p, const ClusterState *state, uint32_t node,
                          const Argosy__HostRecord *host, const char *manager, uint64_t *given);
