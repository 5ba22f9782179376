// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "leader-core.h"

typedef struct Scheduler Scheduler;

// What would be better elsewhere (rebalance.h), in the words of the tables; units and nodes are borrowed,
// `why` is to be freed.
typedef struct SchedulerMove {
        Unit *unit;
        Node *from, *to;
        char *why;
} SchedulerMove;
// The search for such moves: it may take seconds, so it is the pool's, on a copy of the Placement, and the
// loop is held by a few questions in a turn and by the copy. There is a Scheduler whenever it goes on, so
// that the Placement is as the tables are.
typedef struct SchedulerRebalance SchedulerRebalance;
// Whether the unit may be moved as things are now.
typedef bool (*SchedulerMayMove)(Leader *l, Unit *u, void *userdata);
SchedulerRebalance *scheduler_rebalance_new(Leader *l, size_t max_moves, SchedulerMayMove may_move,
                                            void *userdata);
// Does what can be done in this turn; true: it has come to its end. Else leader_mark() follows when it can
// go on.
bool scheduler_rebalance_step(SchedulerRebalance *r, const Scheduler *p);
// At its end, once: what of its result is right as things are now. *ret is the caller's to free.
void scheduler_rebalance_take(SchedulerRebalance *r, const Scheduler *p, SchedulerMove **ret, size_t *ret_n,
                              bool *ret_more);
// At any time; `userdata` is not used any more. Returns NULL.
SchedulerRebalance *scheduler_rebalance_free(SchedulerRebalance *r);
DEFINE_CLEANUP(SchedulerRebalance *, scheduler_rebalance_free)
// It is placed there from now on; false: that is not possible, or not better any more.
bool scheduler_carry_out(Scheduler *p, const Unit *u, const Node *to);
