// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Things that are to be looked at when their time has come, the earliest first: a binary heap. Putting one
// in, moving it and taking it out costs the logarithm of how many wait. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Deadline { // zero-initialised: not waiting
        uint64_t at_us;
        size_t place; // in DeadlineHeap.heap, counted from 1; 0: not waiting
} Deadline;

typedef struct DeadlineHeap {
        Deadline **heap; // heap[0] is place 1
        size_t n, allocated;
} DeadlineHeap;

// Frees the heap, not what waits in it, which must not be used with it any more.
void deadline_heap_done(DeadlineHeap *h);
// Sets the deadline, or moves it if it is set. 0 or -ENOMEM (then it is not set).
int deadline_heap_set(DeadlineHeap *h, Deadline *d, uint64_t at_us);
void deadline_heap_clear(DeadlineHeap *h, Deadline *d); // not waiting is fine
uint64_t deadline_heap_next(const DeadlineHeap *h);     // 0: nothing waits
// The next one whose time has come, taken out; NULL: none.
Deadline *deadline_heap_pop(DeadlineHeap *h, uint64_t now_us);
