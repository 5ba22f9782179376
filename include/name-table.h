// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Objects that carry their name, found by it. For thousands of them at rest: a slot is a pointer, 8 bytes,
// where one of a Map is 24, and of a table that has grown to its size between three eighths and three
// quarters of them are used; it gets smaller only when it is empty. What that costs is time: the name of
// each object that is met is compared, and it is hashed again when the table grows or something near it is
// removed. Whoever does not have thousands uses a Map.
//
// The table owns neither the objects nor their names; a name must stay unchanged while its object is in the
// table. Iteration order is arbitrary; objects may be taken while iterating with name_table_foreach(), none
// may be added. Nothing of the table itself is ever handed out, so adding makes no pointer invalid.

#include "macro.h"

typedef struct NameTable {
        const char *(*name_of)(const void *object); // the rest is zero: an empty table
        void **slots;
        size_t n_slots; // power of two or 0
        size_t count;
} NameTable;

// Empty again, `name_of` stays.
void name_table_done(NameTable *t);

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
