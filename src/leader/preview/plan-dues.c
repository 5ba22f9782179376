// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who is due in a plan: plan_dues_add() as that is found out -> plan_dues_take(), until nobody is. While one
// is looked at others become due, and come before those whose names are behind theirs, as in Leader.moving
// (unit-event.c). Cost: the logarithm of how many are due. Failures: -ENOMEM.
#include "plan-dues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"

typedef struct Due {
        PlanDue due;
        size_t number;       // of those that were added
        BinaryHeapItem item; // in PlanDues.heap
} Due;

static Due *due_of(const BinaryHeapItem *item) {
        return CONTAINER_OF(item, Due, item);
}

static bool is_before(const BinaryHeapItem *a, const BinaryHeapItem *b) {
        const Due *x = due_of(a), *y = due_of(b);
        int r = strcmp(x->due.name, y->due.name);

        return r != 0 ? r < 0 : x->number < y->number;
}

void plan_dues_done(PlanDues *d) {
        for (size_t i = 0; i < d->heap.n; i++)
                free(due_of(d->heap.items[i]));
        binary_heap_done(&d->heap);
}

int plan_dues_add(PlanDues *d, const PlanDue *due) {
        Due *u = calloc(1, sizeof(*u));
        int r;

        if (!u)
                return -ENOMEM;
        u->due = *due;
        u->number = d->n_added++;
        r = binary_heap_put(&d->heap, &u->item, is_before);
        if (r < 0)
                free(u);
        return r;
}

bool plan_dues_take(PlanDues *d, PlanDue *ret) {
        BinaryHeapItem *first = binary_heap_first(&d->heap);

        if (!first)
                return false;
        binary_heap_take(&d->heap, first, is_before);
        *ret = due_of(first)->due;
        free(due_of(first));
        return true;
}
