// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Roles in the Placement, and what they have.

#include "leader-core.h"
#include "unit-file.h"

#define ROLE_DEFAULT "default" // of units without Role=; always there
// Follows the records. 0 or -ENOMEM; -ENOSPC: more roles than can be.
int scheduler_on_roles(Leader *l);
// What a role has: `row` has its name, `record` may be NULL.
int scheduler_fill_role(const Leader *l, const Argosy__RoleRecord *record, Argosy__Response__RoleRow *row);
int64_t scheduler_role_placed(const Leader *l, const char *name); // units of it that have a node
size_t scheduler_role_units(const Leader *l, const char *name); // recorded units of this role
int scheduler_resource_known(Leader *l, const char *name);      // makes it known. 0, -ENOSPC or -ENOMEM
// Whether it is its role that keeps a unit that is on no node from one, and how.
bool scheduler_held_back(const Leader *l, const Unit *u, char *ret, size_t size);

// Of the scheduler alone.
// The roles as the records have them. 0; -ENOSPC: more roles or resources than can be.
int scheduler_sync_roles(Leader *l);
void scheduler_roles_done(SchedulerTables *t);
// That of the unit with these options; ROLE_DEFAULT's if there is none of that name.
uint32_t scheduler_role_of(const SchedulerTables *t, const UnitOptions *options);
// scheduler_held_back() for a unit by its number.
bool scheduler_role_refuses(const Leader *l, uint32_t unit, char *ret, size_t size);
