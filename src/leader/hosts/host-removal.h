// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A host that leaves the cluster.

#include "batch-builder.h"
#include "leader-core.h"

int host_removal_plan(Leader *l, PendingRequest *t, BatchBuilder *b); // returns what Handler.plan does
// Whether there is something to be planned for a removal that has begun: it may wait until its host is no
// voter, and until nothing runs there.
bool host_removal_is_ready(Leader *l, const PendingRequest *t);
// What is said of one that has begun and cannot go on; NULL: it has changed nothing.
Argosy__Response *host_removal_failed(const PendingRequest *t, int error);
// once per turn, behind what hosts have said: a removal that may go on marks the leader
void host_removals_notify(Leader *l);
