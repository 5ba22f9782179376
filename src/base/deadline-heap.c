// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A heap (heap.h) of things that have a time, so that one timer can be set for the earliest of them.
// deadline_heap_set() -> deadline_heap_next() -> deadline_heap_pop(), until nothing is due any more. Only
// deadline_heap_set() of a thing that is not in yet can fail, for lack of memory.

#include "deadline-heap.h"

#include "macro.h"

static const Deadline *deadline_of(const HeapItem *item) {
        return CONTAINER_OF(item, Deadline, item);
}

static bool is_earlier(const HeapItem *a, const HeapItem *b) {
        return deadline_of(a)->at_us < deadline_of(b)->at_us;
}

void deadline_heap_done(DeadlineHeap *h) {
        heap_done(h);
}

int deadline_heap_set(DeadlineHeap *h, Deadline *d, uint64_t at_us) {
        d->at_us = at_us;
        return heap_put(h, &d->item, is_earlier);
}

void deadline_heap_clear(DeadlineHeap *h, Deadline *d) {
        heap_take(h, &d->item, is_earlier);
}

uint64_t deadline_heap_next(const DeadlineHeap *h) {
        const HeapItem *first = heap_first(h);

        return first ? deadline_of(first)->at_us : 0;
}

Deadline *deadline_heap_pop(DeadlineHeap *h, uint64_t now_us) {
        HeapItem *first = heap_first(h);

        if (!first || deadline_of(first)->at_us > now_us)
                return NULL;
        heap_take(h, first, is_earlier);
        return CONTAINER_OF(first, Deadline, item);
}
