// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What all hash tables here have in common: open addressing with linear probing. A removal shifts the
// following slots back instead of leaving tombstones, so look-ups stay short however long the table lives.
//
// A table (Map, NameTable, the counts of a Placement) has slots of its own kind, and says of each whether it
// is used and where it belongs. Everything is inline and each table describes itself by constants, so each
// gets code of its own, as if it were written by hand.

#include <errno.h>
#include <stdbool.h>

#include "macro.h"

typedef struct OpenTable {
        char *slots;
        size_t n_slots; // power of two
        size_t slot_size;
        bool (*is_used)(const void *slot);
        size_t (*hash)(const void *table, const void *slot); // of what is in a used slot
        const void *table;                                   // for `hash`
} OpenTable;

#define OPEN_TABLE_INLINE static inline __attribute__((always_inline))

// At most 3/4 full.
OPEN_TABLE_INLINE bool open_table_is_full(size_t n_slots, size_t count) {
        return count + 1 > n_slots / 4 * 3;
}

OPEN_TABLE_INLINE void *open_table_slot(const OpenTable *t, size_t i) {
        return t->slots + i * t->slot_size;
}

// The slot that holds the key, or the free slot where it belongs. The table must have a free slot.
OPEN_TABLE_INLINE void *open_table_probe(const OpenTable *t, size_t hash, const void *key,
                                         bool (*holds)(const OpenTable *t, const void *slot,
                                                       const void *key)) {
        size_t i = hash & (t->n_slots - 1);

        while (t->is_used(open_table_slot(t, i)) && !holds(t, open_table_slot(t, i), key))
                i = (i + 1) & (t->n_slots - 1);
        return open_table_slot(t, i);
}

// Where something belongs that is not in the table. As all keys differ, none needs to be compared.
OPEN_TABLE_INLINE void *open_table_free_slot(const OpenTable *t, size_t hash) {
        size_t i = hash & (t->n_slots - 1);

        while (t->is_used(open_table_slot(t, i)))
                i = (i + 1) & (t->n_slots - 1);
        return open_table_slot(t, i);
}

// Moves everything to so many slots, which must be enough. -ENOMEM: nothing changed.
OPEN_TABLE_INLINE int open_table_resize(OpenTable *t, size_t n_slots) {
        OpenTable other = *t;

        other.n_slots = n_slots;
        other.slots = calloc(n_slots, t->slot_size);
        if (!other.slots)
                return -ENOMEM;
        for (size_t i = 0; i < t->n_slots; i++) {
                const void *slot = open_table_slot(t, i);

                if (t->is_used(slot))
                        memcpy(open_table_free_slot(&other, t->hash(t->table, slot)), slot, t->slot_size);
        }
        free(t->slots);
        *t = other;
        return 0;
}

// Frees a used slot; those behind it that it kept from their place move up.
OPEN_TABLE_INLINE void open_table_remove(const OpenTable *t, void *slot) {
        size_t mask = t->n_slots - 1, hole = (size_t) ((char *) slot - t->slots) / t->slot_size;

        for (size_t i = (hole + 1) & mask; t->is_used(open_table_slot(t, i)); i = (i + 1) & mask) {
                size_t home = t->hash(t->table, open_table_slot(t, i)) & mask;

                // May move back only if its home is not cyclically in (hole, i].
                if (((i - home) & mask) >= ((i - hole) & mask)) {
                        memcpy(open_table_slot(t, hole), open_table_slot(t, i), t->slot_size);
                        hole = i;
                }
        }
        memset(open_table_slot(t, hole), 0, t->slot_size);
}

// The next used slot; NULL at the end. *iter begins with 0; its low half holds where the walk began, the
// high half how far it is. The walk goes downwards from the slot below the first free one: a removal shifts
// slots only from higher places to lower ones (cyclically, and never across a free slot), so one that was
// not visited yet never moves into the visited part, and one may remove while walking.
OPEN_TABLE_INLINE void *open_table_next(const OpenTable *t, size_t *iter) {
        size_t start = 0;

        if (*iter == 0) {
                while (t->is_used(open_table_slot(t, start)))
                        start++;
                *iter = start + 1; // biased by one: 0 means "not begun"
        }
        for (size_t begun = (*iter & UINT32_MAX) - 1, n = *iter >> 32; n < t->n_slots; n++) {
                void *slot = open_table_slot(t, (begun - 1 - n) & (t->n_slots - 1));

                if (t->is_used(slot)) {
                        *iter = ((n + 1) << 32) | (begun + 1);
                        return slot;
                }
        }
        *iter = (t->n_slots << 32) | (*iter & UINT32_MAX);
        return NULL;
}
