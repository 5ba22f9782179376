// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Joining, tokens, removing, roles of hosts.

#include "draft.h"
#include "leader-core.h"

// 1: in the batch, 0: settled or still waiting in the queue, -EBUSY: try in the next batch,
// -ENOMEM
int members_plan(Leader *l, Ticket *t, Draft *b);
void members_on_renew(Leader *l, Host *h, const Argosy__ToVoter__Renew *renew);
// A removal waits until its host is no voter; false: not yet.
bool members_removal_ready(Leader *l, Ticket *t);
