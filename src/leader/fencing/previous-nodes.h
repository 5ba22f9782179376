// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Nodes that a unit has left and may still run on.

#include "batch-builder.h"
#include "leader-core.h"

// Until when the unit may run on a node that it has left or is to leave: a boot time that is to come,
// FENCING_UNTIL_REPORTED (fencing-policy.h), or 0: it does not, or nobody waits for it.
uint64_t previous_node_runs_until(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);

// Whether something of this name may run on the node now; and its host is not heard; and is lost, and nobody
// else can tell when it ends. `u`, `e`: as the tables and the log have it; NULL: they do not.
typedef bool (*PreviousNodeQuestion)(const Leader *l, const char *name, const Unit *u, const UnitEntry *e,
                                     const Node *n);
bool previous_node_may_run(const Leader *l, const char *name, const Unit *u, const UnitEntry *e,
                           const Node *n);
bool previous_node_is_silent(const Leader *l, const char *name, const Unit *u, const UnitEntry *e,
                             const Node *n);
bool previous_node_only_host_reports(const Leader *l, const char *name, const Unit *u, const UnitEntry *e,
                                     const Node *n);
// Whether a unit of all nodes may run on this one now, or is about to be ordered there: what an entry that
// takes it from there has to tell the next leader.
bool previous_node_of_all(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);
// How long after its host is lost the guard of the unit has certainly ended it; 0: it has none.
uint64_t previous_node_fence_us(const Leader *l, const UnitEntry *e);
// The node that the unit is to end on before it begins on this node, maybe anew, and until when at most;
// NULL: none. `e` as above.
const Node *previous_node_in_the_way(const Leader *l, const UnitOnNode *s, const UnitEntry *e,
                                     uint64_t *ret_until_us);
void previous_node_on_lost(Leader *l, UnitOnNode *s); // its host was lost
// Time alone ends it on a node that it has left: it is looked at then, or sooner if it ends elsewhere
// before. 0 or
// -ENOMEM.
int previous_node_ends_at(Leader *l, Unit *u, uint64_t at_us);
// What is kept of its time on lost nodes that it has left: that which has certainly ended goes, the rest in
// time.
void previous_nodes_on_unit(Leader *l, Unit *u, const UnitEntry *e);
void previous_nodes_on_time(Leader *l);
// For BatchBuilder.previous_nodes.
int previous_nodes_of_record(const BatchBuilder *b, const Argosy__UnitRecord *next, uint32_t **ret,
                             size_t *ret_n, uint64_t *ret_fence_us);
// For BatchBuilder.removed.
int previous_nodes_of_removed(const char *name, BatchBuilderRemoval *ret, void *userdata);
