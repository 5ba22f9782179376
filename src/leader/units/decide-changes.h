// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Changes of units: planned for the batch, and answered when the log has them.

#include "decision.h"
#include "request.h"

// Into the batch; returns what change_plan() does.
int decision_plan_change(Decision *d, const Argosy__Request__Change *change, Argosy__Response **ret);
// A Change. PLAN_IN_BATCH; PLAN_SETTLED; -EBUSY: next batch.
int decide_change(Decision *d, PendingRequest *t);
// Plans `change` (all of the pending request's, or a chunk of it, which has no id unless it is the last) for
// the batch. PLAN_IN_BATCH; 0: there is nothing to store, or it was applied before; 0 without *ret: it is
// too long, or somebody has changed a unit of it, which the pending request was told; or it goes on in a
// later turn. -EBUSY, -ENOMEM.
int decide_units(Decision *d, PendingRequest *t, const Argosy__Request__Change *change,
                 Argosy__Response **ret);
const ChangeOps *decide_change_ops(void);
// As change_plan(), with these operations. Asks hosts for images that what runs is to get (image-pulls.h).
// CHANGE_PULLS: the pending request waits for them, and nothing is in the batch; it is planned again then.
// `t` NULL: nobody asks.
enum { CHANGE_PULLS = 1 };
int decide_pulling(Decision *d, PendingRequest *t, const Argosy__Request__Change *change,
                   const ChangeOps *ops, Argosy__Response **ret);
// Whether the nodes that refused this unit, and where it failed, are asked again. `u` may be NULL.
bool decide_forgets_refusals(const Argosy__Request__Change *change, const Unit *u);
