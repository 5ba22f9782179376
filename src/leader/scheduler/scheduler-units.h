// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units in the Placement: they follow their records.

#include "leader-core.h"
#include "placement.h"
#include "unit-file.h"

// Its record and its options; NULL: it has none, or they cannot be had.
void scheduler_on_unit(Leader *l, Unit *u, const UnitEntry *e, const UnitOptions *options);
void scheduler_on_unit_freed(Leader *l, Unit *u);
void scheduler_on_exclusion(Leader *l, const Unit *u, uint32_t node, bool excluded); // 0: all nodes
// The Placement is told which nodes refuse a unit: those that have, and, of a name that hosts run from
// fleet's directories, all others. Returns about how many nodes were looked at.
size_t scheduler_set_refusals(Leader *l, Unit *u);
void scheduler_sync_refusals(Leader *l); // of units that some node refuses, or does not any more
bool scheduler_sync_refusals_step(Leader *l); // as much of it as one turn takes; false: there is more
// Conflicts= of units that run on every node: with one that is placed on the node; with each other; at all.
bool scheduler_conflict_on(const Leader *l, const Unit *u, const Node *n);
bool scheduler_conflict_between(const Leader *l, const Unit *a, const Unit *b);
bool scheduler_may_conflict(const Leader *l, const Unit *u);
// The first by name of those on its node that have another volume or network of a name that it has, too, and
// count; *ret_claim: "network front=...", as it has it itself. NULL: none does.
const char *scheduler_find_other(const Leader *l, const char *name,
                                 bool (*counts)(const char *name, void *userdata), void *userdata,
                                 const char **ret_claim);
// It is not where those are that it is to be with, or conflicts with somebody there. A node whose labels
// have changed is no reason.
bool scheduler_must_go(const Leader *l, const Unit *u);
// The Placement hears of the host's labels, if they have changed. That is done when something is placed,
// anyway.
void scheduler_follow_labels(Leader *l, const Host *h);
// That is the unit's node, and its labels are not what the file asks for (any more): it stays until somebody
// moves it.
bool scheduler_mismatches(Leader *l, const UnitOnNode *s);
// "needs label disk=ssd, has no label disk": the caller's to free; NULL if it does not.
char *scheduler_mismatch_text(Leader *l, const UnitOnNode *s);
// It would not have to leave that node at once (placement_node_admits()). True for a unit of which the
// Placement does not know.
bool scheduler_node_admits(const Leader *l, const Node *n, const char *name);
// Likewise: what it reserves is left there, if it is not there itself.
bool scheduler_node_has_room(const Leader *l, const Node *n, const char *name);
// Says which node alone may have it, since its data is there. False: any node may.
bool scheduler_data_why(const Leader *l, const Unit *u, char *ret, size_t size);
// Somebody is there who replaces it.
bool scheduler_is_replaced(const Leader *l, const char *name);
// The unit has a node: puts it, or those that it replaces there, into Leader.moving.
void scheduler_drive_out(Leader *l, Unit *u, const UnitEntry *e);
// Puts the unit, and those that are to be with it, into Leader.moving, where they are on other nodes than
// those that they are to be with.
void scheduler_reconsider_colocated(Leader *l, Unit *u);
// Those who are to be with it: how many. Their names live as long as they are in the Placement.
size_t scheduler_colocated_names(const Leader *l, const char *name, const char *ret[PLACEMENT_FOLLOWS_MAX]);
// Those who are to be with it are looked at again. `unit`: its number in the Placement.
void scheduler_refresh_colocated(Leader *l, uint32_t unit);
// Lets a recorded unit on a node wait in the Placement for another one, and notes it in this list of Leader
// (Unit.enqueued), until its record says where it is, or it is taken out again. What it is counted as
// meanwhile does not change.
void scheduler_enqueue(Leader *l, Unit *u, ListNode *queue);
void scheduler_dequeue(Leader *l, Unit *u);
// Whether the unit, which may have no record, replaces others by what it demands now; and whether it does
// that one, wherever the two are.
bool scheduler_replaces(const Leader *l, const char *name);
bool scheduler_replaces_unit(const Leader *l, const char *name, const char *other);
// scheduler-units.c. The unit of this name there, made if need be: with a record or named by somebody's
// options, or a provisional unit.
uint32_t scheduler_get_unit(Leader *l, const char *name, bool provisional);
// No other node may have it.
void scheduler_confine(Leader *l, uint32_t unit, const Node *n);
// Gives it the class that its options mean. 0; SCHEDULER_TOO_MANY_TIED: as if it named fewer that it is to
// be with;
// -ENOSPC, -EINVAL: they demand what cannot be counted any more.
enum { SCHEDULER_TOO_MANY_TIED = 1 }; // more than PLACEMENT_FOLLOWS_MAX
void scheduler_forget_classes(SchedulerTables *t); // that are remembered
// Those that it is to be with, beside its own ones. As scheduler_set_options().
int scheduler_add_affinity(Leader *l, const char *name, uint32_t unit, char **names);
int scheduler_set_options(Leader *l, const char *name, uint32_t unit, const UnitOptions *options);
