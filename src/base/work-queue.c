// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A queue before libuv's pool: add -> [wait] -> begin() -> run() by a worker -> done() -> the next.
//
// There is no handle to close: a loop runs until the pool has nothing of it any more. Code that leaves the
// loop earlier asks work_queue_is_busy() before it frees anything.

#include "work-queue.h"

#include <stdlib.h>

void work_queue_init(WorkQueue *q, uv_loop_t *loop) {
        *q = (WorkQueue){.loop = loop};
        list_init(&q->waiting);
}

bool work_queue_is_busy(const WorkQueue *q) {
        return q->running;
}

static void on_work(PoolWork *work) {
        WorkItem *item = CONTAINER_OF(work, WorkQueue, work)->running;

        item->run(item);
}

static void on_worked(PoolWork *work);

static void go_on(WorkQueue *q) {
        while (!q->running && !list_is_empty(&q->waiting)) {
                WorkItem *item = CONTAINER_OF(q->waiting.next, WorkItem, node);

                list_unlink(&item->node);
                q->running = item; // what begin() adds waits
                if (!item->begin(item)) {
                        q->running = NULL;
                        continue;
                }
                pool_add(q->loop, &q->work, POOL_CLUSTER, on_work, on_worked);
        }
}

static void on_worked(PoolWork *work) {
        WorkQueue *q = CONTAINER_OF(work, WorkQueue, work);
        WorkItem *item = q->running;

        item->done(item); // what it adds waits, too: `running` still says so
        q->running = NULL;
        go_on(q);
}

void work_queue_add(WorkQueue *q, WorkItem *item) {
        if (!item->node.next)
                list_init(&item->node);
        if (list_is_linked(&item->node))
                return;
        list_append(&q->waiting, &item->node);
        go_on(q);
}
