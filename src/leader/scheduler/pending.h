// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who waits for a node: whose turn it is, and who makes room.

#include "batch-builder.h"
#include "leader-core.h"
#include "scheduler.h"

// One round over the units that are on no node and those that were offered (scheduler_offer()): whose turn
// it is goes next, and what it may preempt goes. 0 or -ENOMEM.
int pending_decide(Leader *l, BatchBuilder *b, Scheduler *scheduler);
// Whom a round may not preempt, and whom else.
typedef struct PendingView {
        const BatchBuilder *batch; // units that it touches stay
        // Of a plan: whether it has given the unit a node, where that will be by then; NULL: it is no plan.
        bool (*is_planned)(const char *name, void *userdata);
        void *userdata;
} PendingView;
// What such a round would do now.
void pending_round(Leader *l, PendingView *view, Scheduler *scheduler, SchedulerStep **ret, size_t *ret_n);
// The next turn that gives out nodes looks at the unit by itself, if it is pending or stranded.
void pending_ask(Leader *l, Unit *u);
// Whether the Placement knows all there is to be known about the unit: then it waits there, and a turn in
// which it gets no node has nothing to do with it.
bool pending_waits_by_itself(Leader *l, const Unit *u);
// Whether the batch touches one of them.
bool pending_is_touched(Leader *l, const BatchBuilder *b);
int pending_on_unit(Leader *l, Unit *u, const UnitEntry *e); // follows its record. 0 or -ENOMEM
void pending_forget(Unit *u);
// A unit that was preempted and still ends on this node's host, which is to have its room; NULL: none.
const Unit *pending_awaited(const UnitOnNode *s);
