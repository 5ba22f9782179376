// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Both allocators, tuned in one place, and the keeper that gives back what a burst leaves behind.
//
// Which one it is shows at run time: jemalloc's mallctl() is there or not. So one object serves both
// programs of the benchmark that compares them, and one with another allocator preloaded.
//
// Failures: a pool that takes no work leaves the pages until the next burst.

#include <malloc.h>

#include "heap.h"
#include "pool.h"

// As it comes, jemalloc makes four arenas for each processor and keeps a cache of every size class for each
// thread: speed for programs with many threads that allocate all the time. Here the loop allocates and six
// threads of the pool have short jobs, so all of that would be holes. tests/bench/README.md has the table of
// what was tried.
//   narenas                one heap for all
//   tcache_max             what the loop's thread keeps for itself: objects of up to so many bytes. Without
//                          it every
//                          allocation takes the heap's lock. GnuTLS takes a buffer of 17 kB for each record
//                          five times, and
//                          to make and merge pages for that was more than half of what a beat of a host cost
//                          in user space.
//                          The pool's threads keep nothing
//   tcache_nslots_*        how many of a size that it keeps, if that is a large one: more would be memory
//                          that rests
//   dirty, muzzy_decay_ms  how long pages that hold nothing stay for the next who needs some; HeapKeeper
//                          gives
//                          them back after a burst, since an idle process has no ticks that would
//   background_thread      none: an idle process does not wake up
__attribute__((visibility("default"))) const char *malloc_conf =
        "narenas:1,tcache_max:20480,tcache_nslots_small_min:8,tcache_nslots_large:4,dirty_decay_ms:1000,"
        "muzzy_decay_ms:0,background_thread:false,metadata_thp:disabled";

__attribute__((weak)) int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len);

void heap_tune(void) {
        // The pool's threads have short jobs and little to allocate: a heap for each would be mostly holes.
        (void) mallopt(M_ARENA_MAX, 1);
}

void heap_tune_pool_thread(void) {
        bool enabled = false;

        if (mallctl)
                (void) mallctl("thread.tcache.enabled", NULL, NULL, &enabled, sizeof(enabled));
}

// What the calling thread keeps for itself keeps pages alive. Microseconds.
static void flush_thread(void) {
        if (mallctl)
                (void) mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
}

// Gives pages that hold nothing back to the kernel. From any thread; may take milliseconds.
static void heap_release(void) {
        if (mallctl)
                (void) mallctl("arena.4096.purge", NULL, NULL, NULL, 0); // MALLCTL_ARENAS_ALL
        else
                (void) malloc_trim(0);
}

static uint64_t jemalloc_figure(const char *name) {
        size_t value = 0, size = sizeof(value);

        return mallctl(name, &value, &size, NULL, 0) == 0 ? value : 0;
}

HeapStats heap_stats(void) {
        struct mallinfo2 info;
        uint64_t epoch = 1;

        if (mallctl) {
                (void) mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch)); // figures are of this moment
                return (HeapStats){.heap_allocated_bytes = jemalloc_figure("stats.allocated"),
                                   .heap_resident_bytes = jemalloc_figure("stats.resident"),
                                   .heap_metadata_bytes = jemalloc_figure("stats.metadata")};
        }
        info = mallinfo2();
        return (HeapStats){.heap_allocated_bytes = info.uordblks + info.hblkhd,
                           .heap_resident_bytes = info.arena + info.hblkhd};
}

// ---- the keeper

static void on_release(PoolWork *work) {
        heap_release();
}

static void on_released(PoolWork *work) {
        HeapKeeper *k = work->work.data;

        k->working = false;
}

static void on_timer(uv_timer_t *timer) {
        HeapKeeper *k = timer->data;

        k->armed = false;
        if (k->working) // it will see most of it
                return;
        k->n_gone = 0;
        flush_thread();
        k->working = true;
        pool_add(k->loop, &k->work, POOL_LATER, on_release, on_released);
}

void heap_keeper_init(HeapKeeper *k, uv_loop_t *loop, unsigned delay_ms) {
        *k = (HeapKeeper){.loop = loop, .delay_ms = delay_ms};
        uv_timer_init(loop, &k->timer);
        uv_unref((uv_handle_t *) &k->timer);
        k->timer.data = k->work.work.data = k;
}

void heap_keeper_note(HeapKeeper *k, size_t n) {
        k->n_gone += n;
        if (k->n_gone < HEAP_RELEASE_AFTER || k->armed || uv_is_closing((uv_handle_t *) &k->timer))
                return;
        k->armed = true;
        uv_timer_start(&k->timer, on_timer, k->delay_ms, 0);
}

void heap_keeper_close(HeapKeeper *k) {
        uv_close((uv_handle_t *) &k->timer, NULL);
}
