// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Things that are to be looked at when their time has come, the earliest first: a binary heap. Putting one
// in, moving it and taking it out costs the logarithm of how many wait. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Due { // zero-initialised: not waiting
        uint64_t at_us;
        size_t place; // in DueHeap.heap, counted from 1; 0: not waiting
} Due;

typedef struct DueHeap {
        Due **heap; // heap[0] is place 1
        size_t n, allocated;
} DueHeap;

// Frees the heap, not what waits in it, which must not be used with it any more.
void due_heap_done(DueHeap *h);
// Also moves one that waits already. 0 or -ENOMEM (then it does not wait).
int due_set(DueHeap *h, Due *d, uint64_t at_us);
void due_clear(DueHeap *h, Due *d);  // not waiting is fine
uint64_t due_next(const DueHeap *h); // 0: nothing waits
// The next one whose time has come, taken out; NULL: none.
Due *due_pop(DueHeap *h, uint64_t now_us);
