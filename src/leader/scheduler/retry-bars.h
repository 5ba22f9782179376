// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where a unit has failed, and where it is not placed for that.

#include "deadline-heap.h"
#include "leader-core.h"
#include "list.h"
#include "retry-policy.h"
#include "tables.h"

struct Retry {
        Leader *leader;
        Unit *unit;
        Deadline deadline;        // in Leader.retry_deadlines: it is looked at then
        ListNode queue; // in Leader.retries, to be decided about; .retries_held, until a rollout has ended;
                        // or .retries_stuck, for which a node may come
        ListNode flying; // in Leader.retries_flying: the batch in the making, or on its way, starts it
        RetryLog log;
        Hash spec;
        uint64_t start_rev;
        // node where its last failure was counted as it was seen, before systemd restarted it; 0: none
        uint32_t failed_on;
        uint32_t restarted_on; // node where systemd has restarted it after failures; 0: none
        bool asking; // nodes where it fails are no choice at present
        bool stuck;  // no other node took it when it was asked last
        bool ripe;   // its back-off ended when it ran well: it goes with its next failure
        uint64_t failed_us; // when its last failure was heard of
};

// Where it failed it is not placed, in the order of these until one of them leaves it a node.
typedef enum RetryBar {
        RETRY_BAR_ANY,   // wherever a failure counts
        RETRY_BAR_LIMIT, // where as many count as its file says
        RETRY_BAR_NONE,  // anywhere
} RetryBar;

RetryBar retry_bars_first(const Unit *u);
RetryBar retry_bars_last(const Unit *u);
// Tells the Placement, which must be told RETRY_BAR_NONE when the unit was placed.
void retry_bars_set(Leader *l, const Unit *u, RetryBar bar);
// Why it is not placed there; false: no such reason.
bool retry_bars_why(const Leader *l, const Unit *u, uint32_t node, char *ret, size_t size);
// It has failed everywhere: no other node takes it.
bool retry_is_stuck(const Unit *u);
// that still count
unsigned retry_failures_on(const Leader *l, const Unit *u, const UnitEntry *e, uint32_t node);
uint64_t retry_half_us(const UnitEntry *e); // after which a failure counts half
