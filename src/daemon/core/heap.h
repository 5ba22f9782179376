// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The process's heap, whichever allocator it is linked with: jemalloc, or the C library's. How both are
// tuned stands in heap.c and nowhere else.
//
// What is under way about many units at a time leaves pages behind that hold nothing. HeapKeeper gives them
// back a while after, in the pool: it takes milliseconds, which a turn of the loop does not have.
//
//   heap_keeper_note()  ->  HEAP_RELEASE_AFTER things are gone  ->  HEAP_RELEASE_DELAY_MS  ->  the pool
//
// An idle process notes nothing, so it wakes up for nothing.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "pool.h"

#include "counter.h"

enum {
        HEAP_RELEASE_AFTER = 256,         // things that are gone
        HEAP_CONNECTION = 16,             // of which a TLS connection, with some 25 KiB, counts as so many
        HEAP_RELEASE_DELAY_MS = 2 * 1000, // with what others needed meanwhile
};

// Before the first thread. Only the C library's allocator needs it; jemalloc has read its settings already.
void heap_tune(void);
// On each thread of the pool, before its first job.
void heap_tune_pool_thread(void);

// In bytes, now. What is resident is so with the allocator's own bookkeeping, as far as the allocator tells
// that.
#define HEAP_COUNTERS(COUNTER, GAUGE) \
        GAUGE(heap_allocated_bytes, "what argosyd has in use of its heap")          \
        GAUGE(heap_resident_bytes, "memory that the heap has from the kernel")      \
        GAUGE(heap_metadata_bytes, "of that what the allocator keeps its books in")

typedef struct HeapStats {
        HEAP_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} HeapStats;
HeapStats heap_stats(void);

typedef struct HeapKeeper {
        uv_loop_t *loop;
        uv_timer_t timer;
        PoolWork work;
        unsigned delay_ms;
        size_t n_gone;
        bool armed, working;
} HeapKeeper;

// The timer does not keep the loop alive. delay_ms: HEAP_RELEASE_DELAY_MS.
void heap_keeper_init(HeapKeeper *k, uv_loop_t *loop, unsigned delay_ms);
// So many things that took memory are gone, or at rest.
void heap_keeper_note(HeapKeeper *k, size_t n);
// Nothing is begun any more; what the pool is at ends before the loop does.
void heap_keeper_close(HeapKeeper *k);
