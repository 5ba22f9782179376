// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A heap (binary-heap.h) of things that have a time, so that one timer can be set for the earliest of them.
// deadline_heap_set() -> deadline_heap_next() -> deadline_heap_pop(), until nothing is due any more. Only
// deadline_heap_set() of a thing that is not in yet can fail, for lack of memory.

#include "deadline-heap.h"

#include "macro.h"

static const Deadline *deadline_of(const BinaryHeapItem *item) {
        return CONTAINER_OF(item, Deadline, item);
}

static bool is_earlier(const BinaryHeapItem *a, const BinaryHeapItem *b) {
        return deadline_of(a)->at_us < deadline_of(b)->at_us;
}

void deadline_heap_done(DeadlineHeap *h) {
        binary_heap_done(h);
}

int deadline_heap_set(DeadlineHeap *h, Deadline *d, uint64_t at_us) {
        d->at_us = at_us;
        return binary_heap_put(h, &d->item, is_earlier);
}

void deadline_heap_clear(DeadlineHeap *h, Deadline *d) {
        binary_heap_take(h, &d->item, is_earlier);
}

uint64_t deadline_heap_next(const DeadlineHeap *h) {
        const BinaryHeapItem *first = binary_heap_first(h);

        return first ? deadline_of(first)->at_us : 0;
}

Deadline *deadline_heap_pop(DeadlineHeap *h, uint64_t now_us) {
        BinaryHeapItem *first = binary_heap_first(h);

        if (!first || deadline_of(first)->at_us > now_us)
                return NULL;
        binary_heap_take(h, first, is_earlier);
        return CONTAINER_OF(first, Deadline, item);
}
