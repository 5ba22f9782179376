// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for units.

#include "leader-core.h"
#include "wait-condition.h"

typedef struct Waiter Waiter;

// That somebody waits for a unit, in Unit.waiters: a client, or a job (open-jobs.h) if it has no waiter.
typedef struct WaiterItem {
        Waiter *waiter;
        Unit *unit; // NULL: done, or not begun
        ListNode by_unit;
        uint64_t revision;
        bool known; // there was such a unit when it was looked at
        // in Host.probations, while it waits for that host to say that a process has lived long enough
        ListNode probation;
        uint64_t probation_ms; // which began then
        // of a job: should the unit's new content not start, it is to have the former one again
        bool reverts;
} WaiterItem;

// When something may change a verdict that no report of the unit will tell of.
typedef struct WaitDue {
        uint64_t at_us; // time alone; 0: never
        Host *host;     // a mark of this host (Reports.lived_ms); NULL: none
        uint64_t lived_ms;
} WaitDue;

int waiter_start(Leader *l, PendingRequest *t);
// What a wait of this verb for the unit would be told now. `seen`: what was seen of it in this turn; NULL:
// it is looked at now.
WaitVerdict waiter_judge(const Leader *l, Argosy__Verb verb, uint64_t revision, const Unit *u,
                         const WaitSeen *seen, WaitDue *ret_due);
// The verdict is that the content on trial (UnitExtra.trial) does not start, and a job is about to bring the
// former one back: so nobody's wait has ended.
bool waiter_is_to_revert(const Leader *l, const Unit *u, const WaitVerdict *v);
// The item is judged again then. -ENOMEM: nothing was kept.
int waiter_item_judge_again(Leader *l, WaiterItem *item, const WaitDue *due);
// It waits no more.
void waiter_item_end(Leader *l, WaiterItem *item);
// What a client would be told of this verdict; NULL: out of memory.
Argosy__Response__UnitResult *waiter_result(Leader *l, Argosy__Verb verb, uint64_t revision, const Unit *u,
                                            const WaitVerdict *v);
void waiters_on_unit(Leader *l, Unit *u); // whoever waits for it looks at it again
void waiters_retire(Leader *l);           // a term is over: nobody waits any more
void waiters_drain(Leader *l);
