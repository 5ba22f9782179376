// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The units of a group while a rollout is under way: what each counts as, the sums, and who may be next in
// the order of names. It costs what changes: a unit of which something was seen or written is marked, and
// only then looked at again. The others are looked at once, in a walk that takes some turns.
//
//      rollout_members_mark()      by the group (disruption-budget.c)
//      rollout_members_next_due()  -> rollout_members_put(), until there is none: then the sums are true
//
// What a unit counts as is rollout-policy.c's to say; nothing of that is known here.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deadline-heap.h"
#include "list.h"
#include "map.h"
#include "rollout-policy.h"

struct Unit;

enum { ROLLOUT_KINDS = 16 };

typedef struct RolloutMember {
        struct Unit *unit;
        ListNode due, failed;               // in the lists of these names
        Deadline deadline;                  // when time alone makes something else of it
        size_t place;                       // in the heap of its turn, counted from 1
        uint8_t turn;                       // RolloutTurn
        uint8_t wanted, down, on_way, left, unplaced, unseen; // what of it is in the sums
        uint8_t kind;                       // and in RolloutMembers.kinds; 0: nothing
        struct RolloutMember *next_free;
} RolloutMember;

typedef struct RolloutQueue { // a heap by name
        RolloutMember **heap;
        size_t n, allocated;
} RolloutQueue;

typedef struct RolloutMembers {
        Map by_unit; // RolloutMember by the pointer to its unit
        ListNode due, failed;
        DeadlineHeap deadlines;
        RolloutQueue queues[ROLLOUT_TURNS];
        RolloutSums sums;
        size_t kinds[ROLLOUT_KINDS + 1]; // members of each kind, whatever that is to who looks at them
        ListNode *group;                 // DisruptionBudget.units
        struct Unit *at;                 // that the walk comes to next; NULL: it is over
        RolloutMember **chunks, *free;
        size_t n_chunks, chunks_allocated;
} RolloutMembers;

// `group`: the list of units, which outlives it. All of them are due.
void rollout_members_init(RolloutMembers *m, ListNode *group);
// What was found of them does not count any more: all are due.
void rollout_members_restart(RolloutMembers *m);
void rollout_members_done(RolloutMembers *m);

void rollout_members_mark(RolloutMembers *m, struct Unit *u);   // it is in the group's list
void rollout_members_forget(RolloutMembers *m, struct Unit *u); // before it leaves that list

// Until rollout_members_put() of it. NULL: none is.
RolloutMember *rollout_members_next_due(RolloutMembers *m, uint64_t now_us);
// `counts`: of it alone, each 0 or 1. wake_us 0: only an event makes something else of it.
void rollout_members_put(RolloutMembers *m, RolloutMember *member, const RolloutSums *counts,
                         RolloutTurn turn, bool failed, uint64_t wake_us);
void rollout_members_set_kind(RolloutMembers *m, RolloutMember *member, unsigned kind); // after it was put
// The first by name that is to have this turn, and out of it: it is due. NULL: none.
RolloutMember *rollout_members_take(RolloutMembers *m, RolloutTurn turn);
RolloutMember *rollout_members_find(const RolloutMembers *m,
                                    const struct Unit *u); // NULL: not looked at yet
