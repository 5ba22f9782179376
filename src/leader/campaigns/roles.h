// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests about roles and pools.

#include "batch-builder.h"
#include "leader-core.h"

int roles_plan_role(Leader *l, Ticket *t, BatchBuilder *b); // returns what Handler.plan does
int roles_plan_pool(Leader *l, Ticket *t, BatchBuilder *b);
Argosy__Response *roles_answer_roles(Leader *l, const Argosy__Request *request);
Argosy__Response *roles_answer_pools(Leader *l, const Argosy__Request *request);
