// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Work for the pool of which one piece must be done before the next begins: writes to the same files, above
// all. One piece is with the pool at a time; the others wait in the order in which they were added.

#include <stdbool.h>
#include <uv.h>

#include "list.h"
#include "pool.h"

typedef struct WorkItem WorkItem;
struct WorkItem {
        ListNode node;
        // On the loop, when its turn has come: hands over what `run` needs, as it is by then. False: there
        // is nothing to do any more, and neither of the others is called. May free the item then.
        bool (*begin)(WorkItem *item);
        void (*run)(WorkItem *item); // a worker: touches nothing but what was handed over
        // On the loop, before the next piece begins. May free the item, and add it or others.
        void (*done)(WorkItem *item);
};

typedef struct WorkQueue {
        uv_loop_t *loop;
        PoolWork work;
        ListNode waiting;
        WorkItem *running; // from its begin() to its done()
} WorkQueue;

void work_queue_init(WorkQueue *q, uv_loop_t *loop);
// Its begin() may be called before this returns. Nothing happens if the item waits already; one that runs
// runs again.
void work_queue_add(WorkQueue *q, WorkItem *item);
// Whether a worker may be using what was handed over.
bool work_queue_is_busy(const WorkQueue *q);
