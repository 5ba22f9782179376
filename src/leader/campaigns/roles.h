// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests about roles and pools.

#include "draft.h"
#include "leader-core.h"

int roles_plan(Leader *l, Ticket *t, Draft *b); // RoleChange, PoolChange; returns what members_plan() does
Argosy__Response *roles_answer(Leader *l, const Argosy__Request *request); // RoleList, PoolList
