// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Chunks, newest first, each filled from its end to its beginning. What is larger than a chunk gets one of
// its own size, behind the newest, so that what that has left is not lost.
//
// With AddressSanitizer each chunk is freed at once, so a use after the reset is found.

#include "arena.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct ArenaChunk {
        ArenaChunk *next;
        size_t size; // of `bytes`
        alignas(max_align_t) uint8_t bytes[];
};

#ifdef __SANITIZE_ADDRESS__
enum { KEEPS_ONE = 0 };
#else
enum { KEEPS_ONE = 1 };
#endif

static ArenaChunk *chunk_new(size_t size) {
        ArenaChunk *c = size <= SIZE_MAX - sizeof(*c) ? malloc(sizeof(*c) + size) : NULL;

        if (c)
                *c = (ArenaChunk){.size = size};
        return c;
}

static void *alloc_large(Arena *a, size_t size) {
        ArenaChunk *c = chunk_new(size), **at = a->newest ? &a->newest->next : &a->newest;

        if (!c)
                return NULL;
        c->next = *at;
        *at = c;
        return c->bytes;
}

void *arena_alloc(Arena *a, size_t size) {
        const size_t room = ARENA_CHUNK_BYTES - sizeof(ArenaChunk);
        ArenaChunk *c;

        if (size > room / 4)
                return alloc_large(a, size);
        size = (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
        if (size > a->left || !a->newest) {
                c = chunk_new(room);
                if (!c)
                        return NULL;
                c->next = a->newest;
                a->newest = c;
                a->left = room;
        }
        a->left -= size;
        return a->newest->bytes + a->left;
}

void arena_reset(Arena *a) {
        const size_t room = ARENA_CHUNK_BYTES - sizeof(ArenaChunk);
        ArenaChunk *kept = NULL;

        for (ArenaChunk *c = a->newest, *next; c; c = next) {
                next = c->next;
                if (KEEPS_ONE && !kept && c->size == room)
                        kept = c;
                else
                        free(c);
        }
        if (kept)
                kept->next = NULL;
        *a = (Arena){.newest = kept, .left = kept ? room : 0};
}

void arena_done(Arena *a) {
        arena_reset(a);
        free(a->newest);
        *a = (Arena){};
}
