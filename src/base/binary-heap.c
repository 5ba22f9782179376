// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A binary heap. Each thing knows its place in it, counted from 1, so that putting it where it belongs anew
// and taking it out cost no search. Only binary_heap_put() of a thing that is not in yet can fail, for lack
// of memory.

#include "binary-heap.h"

#include <errno.h>
#include <stdlib.h>

#include "array.h"

static void set(BinaryHeap *h, size_t place, BinaryHeapItem *item) {
        h->items[place - 1] = item;
        item->place = place;
}

static BinaryHeapItem *at(const BinaryHeap *h, size_t place) {
        return h->items[place - 1];
}

static void rise(BinaryHeap *h, BinaryHeapItem *item, BinaryHeapBefore before) {
        size_t place = item->place;

        for (; place > 1 && before(item, at(h, place / 2)); place /= 2)
                set(h, place, at(h, place / 2));
        set(h, place, item);
}

static void sink(BinaryHeap *h, BinaryHeapItem *item, BinaryHeapBefore before) {
        size_t place = item->place;

        for (;;) {
                size_t child = 2 * place;

                if (child < h->n && before(at(h, child + 1), at(h, child)))
                        child++;
                if (child > h->n || !before(at(h, child), item))
                        break;
                set(h, place, at(h, child));
                place = child;
        }
        set(h, place, item);
}

void binary_heap_done(BinaryHeap *h) {
        free(h->items);
        *h = (BinaryHeap){};
}

int binary_heap_put(BinaryHeap *h, BinaryHeapItem *item, BinaryHeapBefore before) {
        if (!item->place) {
                if (ARRAY_GROW(h->items, h->allocated, h->n + 1) < 0)
                        return -ENOMEM;
                set(h, ++h->n, item);
        }
        rise(h, item, before);
        sink(h, item, before);
        return 0;
}

void binary_heap_take(BinaryHeap *h, BinaryHeapItem *item, BinaryHeapBefore before) {
        size_t place = item->place;
        BinaryHeapItem *last;

        if (!place)
                return;
        item->place = 0;
        last = at(h, h->n--);
        if (last == item)
                return;
        set(h, place, last);
        rise(h, last, before);
        sink(h, last, before);
}
