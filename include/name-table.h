// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Objects that carry their name, found by it. For thousands of them at rest: a slot is half as large as one
// of a Map, and of a table that has grown to its size between three eighths and three quarters of them are
// used; it gets smaller only when it is empty. What that costs is that an object is asked for its name. For
// fewer than thousands use a Map.
//
// The table owns neither the objects nor their names; a name must stay unchanged while its object is in the
// table. Iteration order is arbitrary; objects may be taken while iterating with name_table_foreach(), none
// may be added. Nothing of the table itself is ever handed out, so adding makes no pointer invalid.
//
// It grows as a Map does: in no long turn.

#include "macro.h"

typedef struct NameSlot {
        void *object;  // NULL: free slot
        uint32_t hash; // of its name: the lower half
} __attribute__((packed)) NameSlot; // 12 bytes, not 16

typedef struct NameTable {
        const char *(*name_of)(const void *object); // the rest is zero: an empty table
        NameSlot *slots;
        size_t n_slots; // power of two or 0
        size_t count;   // in both tables
        NameSlot *old;  // while it grows: half as many slots; NULL: everything is in `slots`
        size_t old_left; // of these the first so many may be used, all behind them have moved
} NameTable;

static inline size_t name_table_n_old(const NameTable *t) {
        return t->old ? t->n_slots / 2 : 0;
}

// Memory of its tables.
static inline size_t name_table_bytes(const NameTable *t) {
        return (t->n_slots + name_table_n_old(t)) * sizeof(NameSlot);
}

// Empty again, `name_of` stays.
void name_table_done(NameTable *t);
// Same, and calls free_object(object) for each.
void name_table_done_with(NameTable *t, void (*free_object)(void *object));

// NULL: no object has that name.
void *name_table_find(const NameTable *t, const char *name);
// 0, -EEXIST (another or the same has its name) or -ENOMEM, nothing changed then.
int name_table_add(NameTable *t, void *object) _warn_unused_;
// Removes and returns the object of that name, or NULL.
void *name_table_take(NameTable *t, const char *name);

// Next object at or behind *iter (start with 0), or NULL at the end. *iter may be kept while objects come
// and go: then the walk still ends, but may miss some or meet them twice.
void *name_table_next(const NameTable *t, size_t *iter);
#define name_table_foreach(object, table)                                       \
        for (size_t object##_i = 0, object##_b = 1; object##_b; object##_b = 0) \
                for (void *object; (object = name_table_next(table, &object##_i));)
