// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Joining, tokens, removing, roles of hosts.

#include "batch-builder.h"
#include "leader-core.h"

// All return what Handler.plan does.
int members_plan_token(Leader *l, Ticket *t, BatchBuilder *b);
int members_plan_join(Leader *l, Ticket *t, BatchBuilder *b);
int members_plan_removal(Leader *l, Ticket *t, BatchBuilder *b);
int members_plan_role(Leader *l, Ticket *t, BatchBuilder *b);
int members_plan_voters(Leader *l, Ticket *t, BatchBuilder *b);
void members_on_renew(Leader *l, Host *h, const Argosy__ToVoter__Renew *renew);
// A removal waits until its host is no voter; false: not yet.
bool members_removal_ready(Leader *l, Ticket *t);
void members_forget_join(Ticket *t); // nobody works on it any more: what was made for whoever joins goes
