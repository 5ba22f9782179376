// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A queue that takes turns between groups: one item of each group that has any, then again. Within a group
// first come, first served. Items that were taken count as running until they are done; a group with too
// many of them passes its turn. So a big group delays a small one by one item at a time, and never fills all
// places. Pure; every function is O(1).
//
// An item is embedded in its owner's object, a group exists while it has items.

#include <stdint.h>

#include "list.h"
#include "map.h"

typedef struct FairItem {
        ListNode link; // private
        struct FairGroup *group;
} FairItem;

typedef struct FairQueue {
        size_t running_max, group_max; // items that may run at a time, of all groups and of one
        size_t n_running;
        Map groups;     // private
        ListNode ready; // private: groups that may have the next turn
} FairQueue;

void fair_queue_init(FairQueue *q, size_t running_max, size_t group_max);
// It must be empty.
void fair_queue_done(FairQueue *q);
// 0 or -ENOMEM
int fair_queue_add(FairQueue *q, uint64_t group, FairItem *item) _warn_unused_;
// The group of an item that has not ended.
uint64_t fair_item_group(const FairItem *item);
// The next item; it stays in the queue. NULL: none.
FairItem *fair_queue_next(const FairQueue *q);
// The same, whatever runs already.
FairItem *fair_queue_any(const FairQueue *q);
// It runs: its group's turn is over.
void fair_queue_take(FairQueue *q, FairItem *item);
// It has ended, or is withdrawn before it ran.
void fair_queue_end(FairQueue *q, FairItem *item);
