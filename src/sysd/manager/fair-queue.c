// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Work of several groups (requests) takes turns: the group that had its turn goes behind the others, and
// none has more than group_max running. A group exists while something of it waits or runs. Only adding can
// fail, for lack of memory, and then nothing was added.

#include "fair-queue.h"

#include <errno.h>

typedef struct FairGroup {
        uint64_t id;
        ListNode ready;
        ListNode waiting; // FairItem.link
        size_t n_running;
} FairGroup;

void fair_queue_init(FairQueue *q, size_t running_max, size_t group_max) {
        *q = (FairQueue){.running_max = running_max, .group_max = group_max};
        list_init(&q->ready);
}

void fair_queue_done(FairQueue *q) {
        assert(q->groups.count == 0);
        map_done(&q->groups);
}

static FairGroup *get_group(FairQueue *q, uint64_t id) {
        FairGroup *g = map_find(&q->groups, &id, sizeof(id));

        if (g)
                return g;
        g = calloc(1, sizeof(*g));
        if (!g)
                return NULL;
        g->id = id;
        list_init(&g->ready);
        list_init(&g->waiting);
        if (map_add(&q->groups, &g->id, sizeof(g->id), g) < 0) {
                free(g);
                return NULL;
        }
        return g;
}

// Puts the group at the end of those that may have a turn, if it may.
static void update_group(FairQueue *q, FairGroup *g) {
        bool may = !list_is_empty(&g->waiting) && g->n_running < q->group_max;

        if (!may)
                list_unlink(&g->ready);
        else if (!list_is_linked(&g->ready))
                list_append(&q->ready, &g->ready);
        if (!list_is_empty(&g->waiting) || g->n_running > 0)
                return;
        map_take(&q->groups, &g->id, sizeof(g->id));
        free(g);
}

int fair_queue_add(FairQueue *q, uint64_t group, FairItem *item) {
        FairGroup *g = get_group(q, group);

        if (!g)
                return -ENOMEM;
        item->group = g;
        list_append(&g->waiting, &item->link);
        update_group(q, g);
        return 0;
}

uint64_t fair_item_group(const FairItem *item) {
        return item->group->id;
}

FairItem *fair_queue_next(const FairQueue *q) {
        const FairGroup *g;

        if (q->n_running >= q->running_max || list_is_empty(&q->ready))
                return NULL;
        g = CONTAINER_OF(q->ready.next, FairGroup, ready);
        return CONTAINER_OF(g->waiting.next, FairItem, link);
}

FairItem *fair_queue_any(const FairQueue *q) {
        map_foreach (slot, &q->groups) {
                const FairGroup *g = slot->value;

                if (!list_is_empty(&g->waiting))
                        return CONTAINER_OF(g->waiting.next, FairItem, link);
        }
        return NULL;
}

void fair_queue_take(FairQueue *q, FairItem *item) {
        FairGroup *g = item->group;

        list_unlink(&item->link);
        list_unlink(&g->ready);
        g->n_running++;
        q->n_running++;
        update_group(q, g);
}

void fair_queue_end(FairQueue *q, FairItem *item) {
        FairGroup *g = TAKE_PTR(item->group);

        if (list_is_linked(&item->link)) {
                list_unlink(&item->link);
        } else {
                g->n_running--;
                q->n_running--;
        }
        update_group(q, g);
}
