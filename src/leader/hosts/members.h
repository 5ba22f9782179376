// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Hosts that join: tokens, requests, certificates.

#include "batch-builder.h"
#include "leader-core.h"

// Both return what Handler.plan does.
int members_plan_token(Leader *l, PendingRequest *t, BatchBuilder *b);
int members_plan_join(Leader *l, PendingRequest *t, BatchBuilder *b);
void members_on_renew(Leader *l, Host *h, const Argosy__ToVoter__Renew *renew);
