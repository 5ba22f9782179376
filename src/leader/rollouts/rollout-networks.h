// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A rollout that changes networks: on each node all that share them change together.

#include "change-ops.h"
#include "network-change.h"
#include "rollout-private.h"

// What the unit's networks become with that content. As network_change_of().
int rollout_networks_of(const UnitEntry *e, const SpecEntry *next, NetworkChange *ret) _warn_unused_;
// What changes on the way that the rollout goes. As network_change_of().
int rollout_networks_of_record(const Leader *l, const Argosy__RolloutRecord *r,
                               NetworkChange *ret) _warn_unused_;
// Calls `each` for all other units on the node that have the former file of one of them. What it returns but
// 0 ends it.
int rollout_networks_each(const Leader *l, const NetworkChange *c, const Unit *u, const Node *n,
                          int (*each)(Unit *v, void *userdata), void *userdata) _warn_unused_;
// Whether one of them runs and would not start again (rollout_order_blocks()): ROLLOUT_BLOCKED, and *ret is
// the first. `and_itself`: `u` counts, too. 0 or -ENOMEM.
int rollout_networks_judge(const Leader *l, const BatchBuilder *b, const NetworkChange *c, Unit *u,
                           bool and_itself, const Node *n, const Unit **ret,
                           char why[static ROLLOUT_REASON_SIZE]) _warn_unused_;
// Puts the record of one that is not the rollout's own, which counts with that on its node then; `back`: the
// rollout returns. The Scheduler is made if there is none. 0, -EBUSY, -ENOMEM.
int rollout_networks_put(Leader *l, BatchBuilder *b, Scheduler **scheduler, const NetworkChange *c,
                         const Unit *v, bool back) _warn_unused_;
// Those of all others on the node that have the former file of one of them. As above.
int rollout_networks_put_others(Leader *l, BatchBuilder *b, Scheduler **scheduler, const NetworkChange *c,
                                const Unit *u, const Node *n, bool back) _warn_unused_;
// Whether that content, of which `file` is the meaning, names a network that the unit has not named so far,
// and of which another one on its node has another file: 1 or 0, or -ENOMEM.
int rollout_networks_meet(const Leader *l, const Unit *u, const UnitFile *file,
                          const SpecEntry *next) _warn_unused_;
// The name of an update that is under way and changes the network from or to that file, or brings it to its
// units, or takes it from them, whatever file they have; NULL: none does.
const char *rollout_networks_update(const Leader *l, const char *network, const Hash *of);
// Whether units that have a network of `name`, which is to get that content in place of `before`, are being
// updated themselves, so that one of the two would bring it to the other's units: *ret has the name of one,
// which lives as long as that, or NULL. 0 or -ENOMEM.
int rollout_networks_in_the_way(Leader *l, const char *name, const SpecEntry *before,
                                const ChangeContent *next, const char **ret) _warn_unused_;
