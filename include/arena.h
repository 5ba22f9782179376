// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Memory for what is needed together and goes together, a decoded message for instance: taking some costs a
// few instructions, and nothing is freed for itself.

#include "macro.h"

typedef struct ArenaChunk ArenaChunk;

// A zero-initialised Arena is empty and valid.
typedef struct Arena {
        ArenaChunk *newest;
        size_t left; // bytes of it that are free
} Arena;

// Aligned for everything, not zeroed; valid until arena_reset(). NULL: out of memory.
void *arena_alloc(Arena *a, size_t size);
// All of it is free again. One chunk is kept for what comes next, so an arena at rest holds at most
// ARENA_CHUNK_BYTES.
void arena_reset(Arena *a);
void arena_done(Arena *a);

enum { ARENA_CHUNK_BYTES = 64 * 1024 };
