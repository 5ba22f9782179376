// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What shares networks with a rollout's units and is not its own: who of these has them by now, who has
// failed with them, and who gets them when all of the rollout's own have had their turn.

#include "rollout-members.h"
#include "rollout-networks.h"
#include "stop-dependents.h"

typedef struct RolloutSharers {
        Rollout *rollout;
        NetworkChange change; // of the way that the rollout goes
        StopWalk *walks;      // through those who name its files, one for each
        size_t n_walks;
        RolloutMembers members;
        ListNode none;   // there is no group: who they are the walks say
        ListNode parked; // RolloutMember.due of those that had to wait for a budget in this round
        ListNode all;    // in Leader.rollouts_sharing
} RolloutSharers;

// Its record, which is under way, is new or another one.
void rollout_sharers_sync(Leader *l, Rollout *o, const Argosy__RolloutRecord *r);
// Goes on. False: there is more, and nothing may be decided.
bool rollout_sharers_look(Leader *l, Rollout *o, const Argosy__RolloutRecord *r);
void rollout_sharers_free(Rollout *o);
// One that has failed with the rollout's networks, and why; NULL: none.
const Unit *rollout_sharers_failed(const Leader *l, const Rollout *o, const Argosy__RolloutRecord *r,
                                   const char **ret_why);
// Some that got them are not well yet: no more of the rollout's own go down meanwhile.
bool rollout_sharers_are_awaited(const Rollout *o);
size_t rollout_sharers_left(const Rollout *o);
uint64_t rollout_sharers_next_us(const Rollout *o); // when time alone makes something else of one; 0: never
// Gives the networks to those that have not got them with one of the rollout's own, node by node, as far as
// budgets allow. 0; -EBUSY, -ENOMEM.
int rollout_sharers_step(Leader *l, BatchBuilder *b, Rollout *o, const Argosy__RolloutRecord *r,
                         Scheduler **scheduler);

void rollout_sharers_on_touched(Leader *l, Unit *u);
void rollout_sharers_on_unit_gone(Leader *l, Unit *u);
