// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The clock of snapshots and the queue of retired things (snapshot-clock.h): a chain of chunks of
// CHUNK_THINGS each, filled at its end and emptied at its head. Stamps in it never fall, so the first that a
// snapshot may reach ends a search.
//
//      snapshot_clock_take() -> _retire() ... -> _release() -> _reclaim() until nothing is left
//
// Failures: the 9th snapshot gets -EBUSY (SNAPSHOTS_MAX); without memory for the queue the process ends.

#include "snapshot-clock.h"

#include <errno.h>

#include "oom.h"

enum { CHUNK_THINGS = 127 };

typedef struct Retired {
        uint64_t stamp;
        void *thing;
        void (*free_thing)(void *thing);
} Retired;

typedef struct RetiredChunk {
        struct RetiredChunk *next;
        size_t begin, end; // of things[] in use
        Retired things[CHUNK_THINGS];
} RetiredChunk;

void snapshot_clock_init(SnapshotClock *c) {
        *c = (SnapshotClock){.retired_max = SNAPSHOT_RETIRED_MAX};
        list_init(&c->alive);
}

void snapshot_clock_done(SnapshotClock *c) {
        assert(c->n_alive == 0);
        (void) snapshot_clock_reclaim(c, SIZE_MAX);
}

static SnapshotMark *oldest(const SnapshotClock *c) {
        return CONTAINER_OF(c->alive.next, SnapshotMark, alive);
}

int snapshot_clock_take(SnapshotClock *c, SnapshotMark *ret) {
        if (c->n_alive == SNAPSHOTS_MAX)
                return -EBUSY;
        *ret = (SnapshotMark){.stamp = ++c->now, .retired_before = c->retired_bytes};
        list_append(&c->alive, &ret->alive);
        c->n_alive++;
        return 0;
}

void snapshot_clock_release(SnapshotClock *c, SnapshotMark *m) {
        assert(list_is_linked(&m->alive));
        list_unlink(&m->alive);
        c->n_alive--;
}

static void enqueue(SnapshotClock *c, Retired r) {
        if (!c->last || c->last->end == CHUNK_THINGS) {
                RetiredChunk *chunk = oom_checked(malloc(sizeof(*chunk)));

                chunk->next = NULL;
                chunk->begin = chunk->end = 0;
                if (c->last)
                        c->last->next = chunk;
                else
                        c->first = chunk;
                c->last = chunk;
        }
        c->last->things[c->last->end++] = r;
        c->n_retired++;
}

void snapshot_clock_retire(SnapshotClock *c, void *thing, void (*free_thing)(void *thing), size_t bytes) {
        if (c->n_alive == 0) {
                free_thing(thing);
                return;
        }
        enqueue(c, (Retired){.stamp = c->now, .thing = thing, .free_thing = free_thing});
        c->retired_bytes += bytes;
        if (c->retired_bytes - oldest(c)->retired_before > c->retired_max)
                oldest(c)->cut = true;
}

// The head of the queue, if no snapshot that is alive can reach it.
static Retired *freeable(const SnapshotClock *c) {
        Retired *r = c->n_retired > 0 ? &c->first->things[c->first->begin] : NULL;

        return r && (c->n_alive == 0 || r->stamp < oldest(c)->stamp) ? r : NULL;
}

static void drop_head(SnapshotClock *c) {
        RetiredChunk *chunk = c->first;

        c->n_retired--;
        if (++chunk->begin < chunk->end)
                return;
        c->first = chunk->next;
        if (!c->first)
                c->last = NULL;
        free(chunk);
}

bool snapshot_clock_reclaim(SnapshotClock *c, size_t max) {
        Retired *r;

        for (size_t i = 0; i < max && (r = freeable(c)); i++) {
                Retired gone = *r;

                drop_head(c);
                gone.free_thing(gone.thing);
        }
        return freeable(c);
}
