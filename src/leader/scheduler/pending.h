// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that wait for a node: which is next, and which units make room.

#include "batch-builder.h"
#include "leader-core.h"
#include "scheduler.h"

// One round over the units that are on no node, those that are enqueued and those that were offered
// (scheduler_offer()): whose turn it is goes next, and what it may preempt goes, as many as the batch takes;
// the others in the next entry. 0 or -ENOMEM.
int pending_decide(Leader *l, BatchBuilder *b, Scheduler *scheduler);
// What a round has to know of units that it may or may not preempt.
typedef struct PendingView {
        const BatchBuilder *batch; // units that it touches stay
        // In a preview: whether it has given the unit a node, where the unit will be by then; NULL: no dry
        // run.
        bool (*is_planned)(const char *name, void *userdata);
        void *userdata;
} PendingView;
// What such a round would do now, in at most so many steps.
void pending_round(Leader *l, PendingView *view, Scheduler *scheduler, size_t most, SchedulerStep **ret,
                   size_t *ret_n);
// Whether there is still somebody to be judged, or a round to come, before it can be said that nobody takes
// those that wait.
bool pending_is_due(const Leader *l);
// The next turn that gives out nodes looks at the unit by itself, if it is pending or stranded.
void pending_mark(Leader *l, Unit *u);
void pending_mark_later(Leader *l, Unit *u); // it was; only the next round does again
// Whether the Placement knows all there is to be known about the unit: then it waits there, and a turn in
// which it gets no node has nothing to do with it.
bool pending_waits_by_itself(Leader *l, const Unit *u);
// Whether one that is stranded may wait there as well (scheduler_enqueue()): it is on a lost node, and only
// what sets DUE_ENQUEUED, or its record, decides whether it is to go.
bool pending_can_be_enqueued(Leader *l, const Unit *u);
// Whether one that is stranded may wait there until the round is over for which it is judged: it is to leave
// a node that is emptied, and whose host is in session. And whether that is still so when the round comes.
bool pending_can_be_offered(Leader *l, const Unit *u);
bool pending_is_offered_still(const Unit *u);
// Whether the batch touches one of them.
bool pending_is_touched(Leader *l, const BatchBuilder *b);
int pending_on_unit(Leader *l, Unit *u, const UnitEntry *e); // follows its record. 0 or -ENOMEM
void pending_forget(Leader *l, Unit *u);
void pending_retire(Leader *l); // a term is over: nobody waits for a node any more
// A unit that was preempted and still ends on this node's host, which is to have its room; NULL: none.
const Unit *pending_awaited(const UnitOnNode *s);
