// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What exists, and what is seen of it.

#include "leader-core.h"

// Hosts and nodes as the log has them now: all of them when this leader begins, up to *left in a turn, from
// that of the number Leader.hosts_walked on (true: there are no more); then those that are said to have
// changed. Nodes that it has no more are in Leader.nodes_gone. A new host gets a full lease.
bool registry_build_hosts(Leader *l, size_t *left);
void registry_sync_hosts(Leader *l);
void registry_on_unit(Leader *l, Unit *u, UnitEntry *e); // its record
// A term is over, and the other tables have lost what was in them: hosts have no record and no nodes any
// more, and those that are not linked go.
void registry_retire(Leader *l);
bool unit_has_place(const UnitEntry *e); // the record wants it on one node
Host *host_find(const Leader *l, uint32_t number);
Host *host_get(Leader *l, uint32_t number); // makes it; NULL: out of memory
void host_drop_if_unused(Leader *l, Host *h);
Node *node_find(const Leader *l, uint32_t number);
const char *unit_name_of(const void *unit); // for a table of these
Unit *unit_find(const Leader *l, const char *name);
Unit *unit_get(Leader *l, const char *name);
// All that point to it were told before, and it is on no node (LIFE_IS_UNWANTED).
void unit_free(Leader *l, Unit *u);
void node_free(Leader *l, Node *n);
// Only the memory that is its own, on any thread: for tables that nobody reaches any more.
void unit_discard(Unit *u);
void node_discard(Node *n);
void unit_exclude(Leader *l, Unit *u, uint32_t node, const char *reason); // this and its end are marks, too
const char *unit_exclusion(const Unit *u, uint32_t node);       // why it refused the name; NULL: it did not
void unit_forget_exclusions(Leader *l, Unit *u, uint32_t node); // 0: all
void host_forget_exclusions(Leader *l, const Host *h);
void unit_mark_refusals(Leader *l, Unit *u); // the Placement is to hear which nodes refuse it
