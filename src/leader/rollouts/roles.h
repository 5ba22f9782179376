// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests about roles and pools.

#include "batch-builder.h"
#include "leader-core.h"

int roles_plan_role(Leader *l, PendingRequest *t, BatchBuilder *b); // returns what Handler.plan does
int roles_plan_pool(Leader *l, PendingRequest *t, BatchBuilder *b);
// With what follows for units. NULL: it is removed. As batch_builder_put_pool() does.
int roles_put_pool(Leader *l, BatchBuilder *b, const char *name, Argosy__PoolRecord *next);
// Whether a role, or a pool, can be as it was; `record` NULL: there was none. `why` stays as it is if it
// can. 0 or -ENOMEM.
int roles_check_role_back(Leader *l, const char *name, const Argosy__RoleRecord *record, char *why,
                          size_t size);
Argosy__Response *roles_answer_roles(Leader *l, const Argosy__Request *request);
Argosy__Response *roles_answer_pools(Leader *l, const Argosy__Request *request);
