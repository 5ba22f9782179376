// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Messages with orders wait here until the fence that they raise is on the disk. What is older than the
// newest accepted fence is refused at once. One save is under way at a time and covers everything that
// arrived before it began, so a burst of orders costs one or two syncs. If the disk refuses, the orders wait
// and the save is tried again each second: nothing newer is obeyed.

#include <errno.h>

#include "agent-core.h"
#include "agent-fence.h"
#include "clock.h"
#include "log.h"
#include "message.h"
#include "pool.h"

typedef struct Batch {
        ListNode link;
        Fence fence;
        Argosy__ToHost *message;
} Batch;

typedef struct FenceSave {
        PoolWork work;
        Agent *agent;
        Fence fence;
        int error;
} FenceSave;

static void batch_free(Agent *a, Batch *b) {
        list_unlink(&b->link);
        if (b->message)
                message_free(b->message);
        free(b);
        a->n_batches--;
}

// The mesh keeps no messages, so a waiting one is copied.
static int batch_queue(Agent *a, const Fence *fence, const Argosy__ToHost *m) {
        Batch *b;

        if (a->n_batches >= AGENT_BATCHES_MAX)
                return -ENOBUFS;
        b = calloc(1, sizeof(*b));
        if (!b)
                return -ENOMEM;
        b->message = message_copy(m);
        if (!b->message) {
                free(b);
                return -ENOMEM;
        }
        b->fence = *fence;
        list_init(&b->link);
        list_append(&a->batches, &b->link);
        a->n_batches++;
        return 0;
}

static Fence fence_of(const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                return (Fence){m->welcome->generation, m->welcome->term, m->welcome->index};
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME_PART)
                return (Fence){
                        m->welcome_part->generation, m->welcome_part->term, m->welcome_part->index};
        return (Fence){m->orders->generation, m->orders->term, m->orders->index};
}

void agent_on_orders(Agent *a, const Argosy__ToHost *m) {
        Fence fence = fence_of(m);
        int r;

        if (fence_compare(&fence, &a->fence_queued) < 0) {
                a->n_refused++;
                if (!a->refusal_logged)
                        log_warning("Refused orders of generation %llu, term %llu, index %llu: this host "
                                    "has obeyed %llu, %llu, %llu.",
                                    (unsigned long long) fence.generation, (unsigned long long) fence.term,
                                    (unsigned long long) fence.index,
                                    (unsigned long long) a->fence_queued.generation,
                                    (unsigned long long) a->fence_queued.term,
                                    (unsigned long long) a->fence_queued.index);
                a->refusal_logged = true;
                return;
        }
        r = batch_queue(a, &fence, m);
        if (r < 0) {
                log_warning("Cannot keep the leader's orders, asking for all of them again: %s",
                            strerror(-r));
                a->attach_wanted = true;
        } else {
                a->fence_queued = fence;
        }
        drain_mark(&a->drain);
}

// ---- saving

static void run_save(PoolWork *work) {
        FenceSave *s = CONTAINER_OF(work, FenceSave, work);

        s->error = fence_save(s->agent->state_dir, &s->fence);
}

static void on_saved(PoolWork *work) {
        FenceSave *s = CONTAINER_OF(work, FenceSave, work);
        Agent *a = s->agent;

        a->fence_saving = false;
        if (s->error < 0) {
                if (a->fence_retry_us == 0)
                        log_error("Cannot write %s/fence, so nothing new is obeyed until that works: %s",
                                  a->state_dir, strerror(-s->error));
                a->fence_retry_us = clock_boot_us() + USEC_PER_SEC;
        } else {
                a->fence = s->fence;
                a->fence_retry_us = 0;
        }
        free(s);
        drain_mark(&a->drain);
        agent_close_step(a);
}

static void start_save(Agent *a) {
        FenceSave *s = calloc(1, sizeof(*s));

        if (!s) {
                a->fence_retry_us = clock_boot_us() + USEC_PER_SEC;
                return;
        }
        s->agent = a;
        s->fence = a->fence_queued;
        pool_add(a->loop, &s->work, POOL_CLUSTER, run_save, on_saved);
        a->fence_saving = true;
        a->n_open++;
}

Argosy__ToHost *agent_fence_take(Agent *a) {
        Argosy__ToHost *message;
        Batch *b;

        if (list_is_empty(&a->batches))
                return NULL;
        b = CONTAINER_OF(a->batches.next, Batch, link);
        if (fence_compare(&b->fence, &a->fence) > 0)
                return NULL;
        message = TAKE_PTR(b->message);
        batch_free(a, b);
        return message;
}

void agent_fence_drain(Agent *a) {
        const Batch *newest;

        if (list_is_empty(&a->batches) || a->fence_saving || a->fence_retry_us > clock_boot_us())
                return;
        newest = CONTAINER_OF(a->batches.prev, Batch, link);
        if (fence_compare(&newest->fence, &a->fence) > 0) // else they only wait for their turn
                start_save(a);
}

void agent_fence_drop(Agent *a) {
        while (!list_is_empty(&a->batches))
                batch_free(a, CONTAINER_OF(a->batches.next, Batch, link));
}
