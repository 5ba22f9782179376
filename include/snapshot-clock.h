// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who may still read what is not in use any more. Taking a snapshot copies nothing: it raises a clock and
// keeps the roots of some tables (paged-table.h). From then on a change of a thing that the snapshot may
// reach is made to a copy, and the old one is retired; what was retired is freed when all snapshots that are
// as old are gone.
//
//      born      when a thing was made: the clock at that time
//      retired   when it was taken out of the tables
//      a snapshot may reach what was born before it and was not retired before it
//
// So no thing has a count of its own. What was retired stands in one queue, in the order of time, and is
// freed from its head: a snapshot that is old keeps everything that was retired since, also what came and
// went after it was taken.
//
// Everything here is called by the loop's thread. Other threads read what a snapshot reaches, as long as it
// is alive, and nobody writes there: neither locks nor atomics are needed, if how they got the snapshot
// orders memory (a job of the pool does).
//
//      snapshot_clock_take() -> readers read -> snapshot_clock_release() -> snapshot_clock_reclaim() in each
//      turn of
//      the loop, until it says that nothing more can be freed
//
// A reader that is slow costs memory only when there are changes, so what it is allowed is counted in bytes
// that were retired since it began. Beyond them its mark is cut: it is to let go as soon as it can; until it
// does, it may read.

#include <stdbool.h>

#include "list.h"

enum {
        SNAPSHOTS_MAX = 8,            // alive at a time
        SNAPSHOT_RECLAIM_STEP = 1024, // things that one turn of the loop frees: about a millisecond
};
#define SNAPSHOT_RETIRED_MAX ((uint64_t) 256 * 1024 * 1024) // bytes retired since the oldest was taken

// A snapshot that is alive; its fields are private, but for `cut`.
typedef struct SnapshotMark {
        uint64_t stamp, retired_before;
        bool cut; // it is to be released: others wait for the memory
        ListNode alive;
} SnapshotMark;

typedef struct SnapshotClock {
        uint64_t now;
        ListNode alive; // SnapshotMark.alive, oldest first
        size_t n_alive;
        struct RetiredChunk *first, *last; // oldest first
        size_t n_retired;                  // that wait to be freed
        uint64_t retired_bytes;            // ever
        uint64_t retired_max;              // SNAPSHOT_RETIRED_MAX, unless a test says otherwise
} SnapshotClock;

void snapshot_clock_init(SnapshotClock *c);
// Frees whatever is left. No snapshot may be alive.
void snapshot_clock_done(SnapshotClock *c);

// 0, or -EBUSY: SNAPSHOTS_MAX are alive.
int snapshot_clock_take(SnapshotClock *c, SnapshotMark *ret) _warn_unused_;
void snapshot_clock_release(SnapshotClock *c, SnapshotMark *m);

// Whether a snapshot that is alive may reach what was born then.
static inline bool snapshot_clock_may_reach(const SnapshotClock *c, uint64_t born) {
        return c->n_alive > 0 && born < CONTAINER_OF(c->alive.prev, SnapshotMark, alive)->stamp;
}

// Calls free_thing(thing): now if no snapshot is alive, else from snapshot_clock_reclaim(). `bytes` is about
// what that gives back. Without memory for the queue it ends the process (oom.h).
void snapshot_clock_retire(SnapshotClock *c, void *thing, void (*free_thing)(void *thing), size_t bytes);
// Frees at most `max` things of those that nobody can reach. Whether there are more of them.
bool snapshot_clock_reclaim(SnapshotClock *c, size_t max);
