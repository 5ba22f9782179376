// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Memory for small objects of which there are thousands and which live long. In the heap each of them would
// stand between things that come and go, and the pages of those could never be given back (measured with
// 10,000 units: twice what the objects need). Here they stand among themselves, without anything between
// them: an object costs its size, rounded up to SLAB_STEP.
//
// A slab has chunks of SLAB_CHUNK bytes of address space, each for objects of one size; pages that were
// never used cost nothing, and a chunk without objects is given back. Under AddressSanitizer each object
// comes from the heap, so that its use after its end is found.

#include <stddef.h>

enum {
        SLAB_STEP = 8,
        SLAB_CHUNK = 64 * 1024,
        SLAB_OBJECT_MAX = 512, // larger ones come from the heap
};

typedef struct Slab {
        struct SlabChunk
                *chunks[SLAB_OBJECT_MAX / SLAB_STEP + 1]; // by size: those with room, the first to be used
        size_t bytes; // of all objects, with what they are rounded up by; also of those from the heap
} Slab;

// A zero-initialised Slab is empty and valid, and has nothing to be freed when all its objects are.
// Zeroed, aligned for pointers; NULL: out of memory.
void *slab_alloc(Slab *s, size_t size);
// With the size that it was allocated with. Takes NULL.
void slab_free(Slab *s, void *object, size_t size);
