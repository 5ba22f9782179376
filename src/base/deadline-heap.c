// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A binary heap of things that have a time, so that one timer can be set for the earliest of them. Each
// thing knows its place in the heap, counted from 1, so that setting it anew and taking it out cost no
// search. Only deadline_heap_set() of a thing that is not in yet can fail, for lack of memory.

#include "deadline-heap.h"

#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "macro.h"

static void put(DeadlineHeap *h, size_t place, Deadline *d) {
        h->heap[place - 1] = d;
        d->place = place;
}

static Deadline *at(const DeadlineHeap *h, size_t place) {
        return h->heap[place - 1];
}

static void rise(DeadlineHeap *h, Deadline *d) {
        size_t place = d->place;

        for (; place > 1 && d->at_us < at(h, place / 2)->at_us; place /= 2)
                put(h, place, at(h, place / 2));
        put(h, place, d);
}

static void sink(DeadlineHeap *h, Deadline *d) {
        size_t place = d->place;

        for (;;) {
                size_t child = 2 * place;

                if (child < h->n && at(h, child + 1)->at_us < at(h, child)->at_us)
                        child++;
                if (child > h->n || at(h, child)->at_us >= d->at_us)
                        break;
                put(h, place, at(h, child));
                place = child;
        }
        put(h, place, d);
}

void deadline_heap_done(DeadlineHeap *h) {
        free(h->heap);
        *h = (DeadlineHeap){};
}

int deadline_heap_set(DeadlineHeap *h, Deadline *d, uint64_t at_us) {
        if (!d->place) {
                if (ARRAY_GROW(h->heap, h->allocated, h->n + 1) < 0)
                        return -ENOMEM;
                put(h, ++h->n, d);
        }
        d->at_us = at_us;
        rise(h, d);
        sink(h, d);
        return 0;
}

void deadline_heap_clear(DeadlineHeap *h, Deadline *d) {
        size_t place = d->place;
        Deadline *last;

        if (!place)
                return;
        d->place = 0;
        last = at(h, h->n--);
        if (last == d)
                return;
        put(h, place, last);
        rise(h, last);
        sink(h, last);
}

uint64_t deadline_heap_next(const DeadlineHeap *h) {
        return h->n ? h->heap[0]->at_us : 0;
}

Deadline *deadline_heap_pop(DeadlineHeap *h, uint64_t now_us) {
        Deadline *d = h->n && h->heap[0]->at_us <= now_us ? h->heap[0] : NULL;

        if (d)
                deadline_heap_clear(h, d);
        return d;
}
