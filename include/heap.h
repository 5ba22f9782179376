// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Things in an order of which only the first is asked for: a binary heap. Putting one in and taking any one
// out cost the logarithm of how many are in. Of two of which neither is before the other either may be the
// first. Pure.

#include <stdbool.h>
#include <stddef.h>

typedef struct HeapItem { // a member of the thing; zero-initialised: in no heap
        size_t place;     // in Heap.items, counted from 1
} HeapItem;

typedef struct Heap {
        HeapItem **items; // items[0] is place 1
        size_t n, allocated;
} Heap;

typedef bool (*HeapBefore)(const HeapItem *a, const HeapItem *b); // the same for all calls with one heap

// Frees the heap, not what is in it, which must not be used with it any more.
void heap_done(Heap *h);
// Puts it in, or, if it is in, where it belongs now. 0 or -ENOMEM (then it is not in).
int heap_put(Heap *h, HeapItem *item, HeapBefore before);
void heap_take(Heap *h, HeapItem *item, HeapBefore before); // one that is not in is fine
static inline HeapItem *heap_first(const Heap *h) { // stays in; NULL: there is none
        return h->n > 0 ? h->items[0] : NULL;
}
