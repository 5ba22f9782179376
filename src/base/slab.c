// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A chunk is aligned to its size, so an object's address says where its chunk begins:
//
//   SlabChunk    head
//   objects      handed out from the front; those that were freed are linked through their first word

#include <stdbool.h>
#include <sys/mman.h>

#include "macro.h"
#include "slab.h"

#if defined(__SANITIZE_ADDRESS__)
#define SLAB_FROM_HEAP true
#elif defined(__has_feature)
#define SLAB_FROM_HEAP __has_feature(address_sanitizer)
#else
#define SLAB_FROM_HEAP false
#endif

typedef struct SlabChunk {
        struct SlabChunk *prev, *next; // in Slab.chunks while there is room
        void *freed;                   // first of those that were freed
        uint32_t size;                 // of an object
        uint32_t used;                 // bytes that were handed out from the front, with the head
        uint32_t n;                    // objects in use
} SlabChunk;

static SlabChunk *chunk_new(size_t size) {
        char *p = mmap(NULL, 2 * SLAB_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        size_t before;
        SlabChunk *c;

        if (p == MAP_FAILED)
                return NULL;
        before = -(uintptr_t) p % SLAB_CHUNK;
        if (before > 0)
                munmap(p, before);
        munmap(p + before + SLAB_CHUNK, SLAB_CHUNK - before);
        c = (SlabChunk *) (p + before);
        c->size = (uint32_t) size;
        c->used = sizeof(*c);
        return c;
}

static bool has_room(const SlabChunk *c) {
        return c->freed || c->used + c->size <= SLAB_CHUNK;
}

static void chunk_link(SlabChunk **first, SlabChunk *c) {
        c->prev = NULL;
        c->next = *first;
        if (*first)
                (*first)->prev = c;
        *first = c;
}

static void chunk_unlink(SlabChunk **first, SlabChunk *c) {
        if (c->next)
                c->next->prev = c->prev;
        if (c->prev)
                c->prev->next = c->next;
        else
                *first = c->next;
}

static size_t round_up(size_t size) {
        return MAX_OF((size + SLAB_STEP - 1) / SLAB_STEP * SLAB_STEP, (size_t) SLAB_STEP);
}

static void *take(Slab *s, size_t size) {
        size_t rounded = round_up(size);
        SlabChunk **first, *c;
        void *object;

        if (SLAB_FROM_HEAP || rounded > SLAB_OBJECT_MAX)
                return calloc(1, size);
        first = &s->chunks[rounded / SLAB_STEP];
        if (!*first) {
                c = chunk_new(rounded);
                if (!c)
                        return NULL;
                chunk_link(first, c);
        }
        c = *first;
        object = c->freed;
        if (object) {
                c->freed = *(void **) object;
                memset(object, 0, rounded);
        } else {
                object = (char *) c + c->used;
                c->used += c->size;
        }
        c->n++;
        if (!has_room(c))
                chunk_unlink(first, c);
        return object;
}

void *slab_alloc(Slab *s, size_t size) {
        void *object = take(s, size);

        if (object)
                s->bytes += round_up(size);
        return object;
}

void slab_free(Slab *s, void *object, size_t size) {
        size_t rounded = round_up(size);
        SlabChunk **first, *c;

        if (object)
                s->bytes -= rounded;
        if (SLAB_FROM_HEAP || rounded > SLAB_OBJECT_MAX || !object) {
                free(object);
                return;
        }
        first = &s->chunks[rounded / SLAB_STEP];
        c = (SlabChunk *) ((uintptr_t) object / SLAB_CHUNK * SLAB_CHUNK);
        assert(c->size == rounded && c->n > 0);
        if (!has_room(c))
                chunk_link(first, c);
        *(void **) object = c->freed;
        c->freed = object;
        if (--c->n > 0)
                return;
        chunk_unlink(first, c);
        munmap(c, SLAB_CHUNK);
}
