// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Things in an order of which only the first is asked for: a binary heap. Putting one in and taking any one
// out cost the logarithm of how many are in. Of two of which neither is before the other either may be the
// first. Pure.

#include <stdbool.h>
#include <stddef.h>

typedef struct BinaryHeapItem { // a member of the thing; zero-initialised: in no heap
        size_t place;           // in BinaryHeap.items, counted from 1
} BinaryHeapItem;

typedef struct BinaryHeap {
        BinaryHeapItem **items; // items[0] is place 1
        size_t n, allocated;
} BinaryHeap;

// The same for all calls with one heap.
typedef bool (*BinaryHeapBefore)(const BinaryHeapItem *a, const BinaryHeapItem *b);

// Frees the heap, not what is in it, which must not be used with it any more.
void binary_heap_done(BinaryHeap *h);
// Puts it in, or, if it is in, where it belongs now. 0 or -ENOMEM (then it is not in).
int binary_heap_put(BinaryHeap *h, BinaryHeapItem *item, BinaryHeapBefore before);
// One that is not in is fine.
void binary_heap_take(BinaryHeap *h, BinaryHeapItem *item, BinaryHeapBefore before);
// Stays in; NULL: there is none.
static inline BinaryHeapItem *binary_heap_first(const BinaryHeap *h) {
        return h->n > 0 ? h->items[0] : NULL;
}
