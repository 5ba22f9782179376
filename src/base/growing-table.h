// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// An OpenTable that grows in no long turn of anybody's loop: what a Map and a NameTable have in common.
//
// A table that is full becomes the old one beside a new one of twice the size, and each thing that is added
// moves what is in GROWING_MOVED_SLOTS of its slots, from the last slot down to the first. The new one is
// not full before that has come to its end: N slots of which 3/4 are used have moved after N /
// GROWING_MOVED_SLOTS more were added, and there is room for another 3/4 N. Nothing else moves: neither who
// looks nor who takes, so a walk meets everything once.
//
// What is not moved yet is found in the old table as ever: its first slot is free, so nothing there belongs
// to slots behind its end, and whatever keeps an entry from its place stands before it and moves later.
//
// The table itself keeps the four figures; a GrowingTable is what this looks at and changes of them, for one
// call.

#include "open-table.h"

enum {
        GROWING_MIN_SLOTS = 8,
        // With each thing that is added, at about 20 ns each; a table of up to so many is moved at once.
        // More would make a long turn for who adds hundreds to several tables that grow; with fewer the old
        // tables stay long.
        GROWING_MOVED_SLOTS = 96,
};

typedef struct GrowingTable {
        OpenTable now, old; // `old` has half as many slots; without slots: everything is in `now`
        size_t old_left;    // of the old one the first so many may be used, all behind them have moved
} GrowingTable;

// Those that it kept from their place have moved already.
OPEN_TABLE_INLINE void growing_table_move(GrowingTable *g, void *slot) {
        if (!g->old.is_used(slot))
                return;
        memcpy(open_table_free_slot(&g->now, g->old.hash(g->old.table, slot)), slot, g->now.slot_size);
        memset(slot, 0, g->old.slot_size);
}

OPEN_TABLE_INLINE void growing_table_move_some(GrowingTable *g) {
        for (unsigned n = 0; n < GROWING_MOVED_SLOTS && g->old_left > 0; n++)
                growing_table_move(g, open_table_slot(&g->old, --g->old_left));
        if (g->old_left > 0)
                return;
        free(g->old.slots);
        g->old.slots = NULL;
}

// What wraps round the end of the table, if anything does, moves first: a few slots, as long as it is not
// too full.
OPEN_TABLE_INLINE void growing_table_move_first(GrowingTable *g) {
        size_t n = 0;

        while (g->old.is_used(open_table_slot(&g->old, n)))
                n++;
        while (n > 0)
                growing_table_move(g, open_table_slot(&g->old, --n));
}

OPEN_TABLE_INLINE int growing_table_grow(GrowingTable *g) {
        size_t n = g->now.n_slots ? 2 * g->now.n_slots : GROWING_MIN_SLOTS;
        char *slots = calloc(n, g->now.slot_size);

        assert(!g->old.slots);
        if (!slots)
                return -ENOMEM;
        g->old.slots = g->now.slots;
        g->old.n_slots = g->old_left = g->now.n_slots;
        g->now.slots = slots;
        g->now.n_slots = n;
        if (g->old.slots)
                growing_table_move_first(g);
        return 0;
}

// The four figures, as they are by now, become those of the table: a Map, or a NameTable.
#define growing_table_keep(g, table)                                                 \
        do {                                                                         \
                (table)->slots = (__typeof__((table)->slots)) (g)->now.slots;        \
                (table)->n_slots = (g)->now.n_slots;                                 \
                (table)->old = (__typeof__((table)->old)) (g)->old.slots;            \
                (table)->old_left = (g)->old_left;                                   \
        } while (0)

// Before something is added to so many that are in both tables. -ENOMEM: a new table is due, and nothing has
// changed.
OPEN_TABLE_INLINE int growing_table_make_room(GrowingTable *g, size_t count) {
        int r = open_table_is_full(g->now.n_slots, count) ? growing_table_grow(g) : 0;

        if (r == 0 && g->old.slots)
                growing_table_move_some(g);
        return r;
}

// The old table first, if there is one: nothing moves while somebody walks. As open_table_next(), with one
// bit more: the walk is over the new table. It is in the lower half of the iterator, where no place can be.
#define GROWING_WALKS_NEW ((size_t) 1 << 31)

OPEN_TABLE_INLINE void *growing_table_next(const GrowingTable *g, size_t *iter) {
        size_t at = *iter & ~GROWING_WALKS_NEW;
        void *slot;

        if (g->old.slots && !(*iter & GROWING_WALKS_NEW)) {
                slot = open_table_next(&g->old, iter);
                if (slot)
                        return slot;
                at = 0;
        }
        slot = open_table_next(&g->now, &at);
        *iter = at | GROWING_WALKS_NEW;
        return slot;
}
