// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Objects in the order of their last change: chunks of slots, the slots in the order of their sequences,
// found by halving. Removing empties a slot. Of two neighbours that together have no more than half a chunk
// of objects the later one is moved into the earlier, so that on the average a quarter of the slots is used
// and going on passes few holes. Without memory for a chunk nothing has changed.

#include "change-order.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "sorted.h"

enum { CHUNK_SLOTS = 680 }; // a chunk takes 8 KiB, which is a size that allocators have

struct ChangeOrderChunk {
        uint64_t seq;                // at or before that of the first slot
        uint32_t n, n_objects;       // slots that were filled, and those that still are
        void *objects[CHUNK_SLOTS];  // NULL: it has changed since
        uint32_t behind[CHUNK_SLOTS]; // its sequence, counted from that of the chunk
};

static uint64_t seq_of(const ChangeOrderChunk *c, size_t slot) {
        return c->seq + c->behind[slot];
}

static bool has_room_until(const ChangeOrderChunk *c, uint64_t seq) {
        return seq - c->seq <= UINT32_MAX;
}

static void put(ChangeOrderChunk *c, uint64_t seq, void *object) {
        c->objects[c->n] = object;
        c->behind[c->n++] = (uint32_t) (seq - c->seq);
}

void change_order_done(ChangeOrder *o) {
        for (size_t i = 0; i < o->n_chunks; i++)
                free(o->chunks[i]);
        free(o->chunks);
        *o = (ChangeOrder){};
}

int change_order_add(ChangeOrder *o, uint64_t seq, void *object) {
        ChangeOrderChunk *last = o->n_chunks > 0 ? o->chunks[o->n_chunks - 1] : NULL;

        assert(object && (!last || seq_of(last, last->n - 1) < seq));
        if (!last || last->n == CHUNK_SLOTS || !has_room_until(last, seq)) {
                if (ARRAY_GROW(o->chunks, o->allocated, o->n_chunks + 1) < 0 ||
                    !(last = malloc(sizeof(*last))))
                        return -ENOMEM;
                last->seq = seq;
                last->n = last->n_objects = 0;
                o->chunks[o->n_chunks++] = last;
        }
        put(last, seq, object);
        last->n_objects++;
        o->n_objects++;
        return 0;
}

// The last chunk that begins at or before that sequence; 0 if there is none.
static size_t find_chunk(const ChangeOrder *o, uint64_t seq) {
        size_t n = SORTED_COUNT(o->n_chunks, i, o->chunks[i]->seq <= seq);

        return n > 0 ? n - 1 : 0;
}

// How many of its slots stand before that sequence, or under it.
static size_t count_until(const ChangeOrderChunk *c, uint64_t seq) {
        return SORTED_COUNT(c->n, i, seq_of(c, i) <= seq);
}

static void drop_chunk(ChangeOrder *o, size_t i) {
        free(o->chunks[i]);
        o->n_chunks--;
        memmove(o->chunks + i, o->chunks + i + 1, (o->n_chunks - i) * sizeof(*o->chunks));
}

// The first n of a chunk, also of the same one whose number is 0 by now, but for holes.
static void take_objects(ChangeOrderChunk *to, const ChangeOrderChunk *from, uint32_t n) {
        for (uint32_t i = 0; i < n; i++)
                if (from->objects[i])
                        put(to, seq_of(from, i), from->objects[i]);
}

// True: the one behind is a part of it now.
static bool put_together(ChangeOrder *o, size_t i) {
        ChangeOrderChunk *a, *b;
        uint32_t n;

        if (i + 1 >= o->n_chunks)
                return false;
        a = o->chunks[i];
        b = o->chunks[i + 1];
        if (a->n_objects + b->n_objects > CHUNK_SLOTS / 2 || !has_room_until(a, seq_of(b, b->n - 1)))
                return false;
        n = a->n;
        a->n = 0;
        take_objects(a, a, n);
        take_objects(a, b, b->n);
        a->n_objects += b->n_objects;
        drop_chunk(o, i + 1);
        if (a->n == 0)
                drop_chunk(o, i);
        return true;
}

static void set(ChangeOrder *o, uint64_t seq, void *object, size_t *ret_chunk) {
        ChangeOrderChunk *c;
        size_t n;

        assert(o->n_chunks > 0);
        *ret_chunk = find_chunk(o, seq);
        c = o->chunks[*ret_chunk];
        n = count_until(c, seq);
        assert(n > 0 && seq_of(c, n - 1) == seq && c->objects[n - 1]);
        c->objects[n - 1] = object;
}

void change_order_remove(ChangeOrder *o, uint64_t seq) {
        size_t i;

        set(o, seq, NULL, &i);
        o->n_objects--;
        o->chunks[i]->n_objects--;
        if (!put_together(o, i) && i > 0)
                (void) put_together(o, i - 1);
        if (o->n_objects == 0)
                while (o->n_chunks > 0)
                        drop_chunk(o, o->n_chunks - 1);
}

void change_order_replace(ChangeOrder *o, uint64_t seq, void *object) {
        size_t i;

        assert(object);
        set(o, seq, object, &i);
}

void *change_order_next(const ChangeOrder *o, uint64_t seq, uint64_t *ret_seq) {
        size_t i = o->n_chunks > 0 ? find_chunk(o, seq) : 0;

        for (; i < o->n_chunks; i++) {
                const ChangeOrderChunk *c = o->chunks[i];

                for (size_t k = count_until(c, seq); k < c->n; k++)
                        if (c->objects[k]) {
                                *ret_seq = seq_of(c, k);
                                return c->objects[k];
                        }
        }
        return NULL;
}

size_t change_order_n_slots(const ChangeOrder *o) {
        return o->n_chunks * CHUNK_SLOTS;
}
