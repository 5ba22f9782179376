// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Things that are to be looked at when their time has come, the earliest first. Putting one in, moving it
// and taking it out costs the logarithm of how many wait. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary-heap.h"

typedef struct Deadline { // zero-initialised: not waiting
        uint64_t at_us;
        BinaryHeapItem item;
} Deadline;

typedef BinaryHeap DeadlineHeap; // of these

static inline bool deadline_is_set(const Deadline *d) {
        return d->item.place > 0;
}
// Frees the heap, not what waits in it, which must not be used with it any more.
void deadline_heap_done(DeadlineHeap *h);
// Sets the deadline, or moves it if it is set. 0 or -ENOMEM (then it is not set).
int deadline_heap_set(DeadlineHeap *h, Deadline *d, uint64_t at_us);
void deadline_heap_clear(DeadlineHeap *h, Deadline *d); // not waiting is fine
uint64_t deadline_heap_next(const DeadlineHeap *h);     // 0: nothing waits
// The next one whose time has come, taken out; NULL: none.
Deadline *deadline_heap_pop(DeadlineHeap *h, uint64_t now_us);
