// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A hash table of objects by name, without an allocation for each (growing-table.h says how it grows).
//
//      name_table_add() -> name_table_find() ... -> name_table_take(), or name_table_done_with() frees all
//
// A slot keeps 32 bits of the name's hash: few names are compared, and none is hashed again when the table
// grows. The objects belong to the caller. name_table_add(): -ENOMEM, or -EEXIST for a name that is there.

#include <errno.h>

#include "growing-table.h"
#include "map.h"
#include "name-table.h"

typedef struct NameKey {
        const char *name;
        uint32_t hash;
} NameKey;

void name_table_done(NameTable *t) {
        free(t->slots);
        free(t->old);
        *t = (NameTable){.name_of = t->name_of};
}

static void free_objects(const NameSlot *slots, size_t n, void (*free_object)(void *object)) {
        for (size_t i = 0; i < n; i++)
                if (slots[i].object)
                        free_object(slots[i].object);
}

void name_table_done_with(NameTable *t, void (*free_object)(void *object)) {
        free_objects(t->slots, t->n_slots, free_object);
        free_objects(t->old, name_table_n_old(t), free_object);
        name_table_done(t);
}

static bool slot_is_used(const void *slot) {
        return ((const NameSlot *) slot)->object;
}

static size_t slot_hash(const void *table, const void *slot) {
        return ((const NameSlot *) slot)->hash;
}

static bool slot_holds(const OpenTable *t, const void *slot, const void *key) {
        const NameSlot *s = slot;
        const NameKey *k = key;

        return s->hash == k->hash && streq(((const NameTable *) t->table)->name_of(s->object), k->name);
}

OPEN_TABLE_INLINE OpenTable table_of(const NameTable *t, NameSlot *slots, size_t n_slots) {
        return (OpenTable){.slots = (char *) slots,
                           .n_slots = n_slots,
                           .slot_size = sizeof(NameSlot),
                           .is_used = slot_is_used,
                           .hash = slot_hash,
                           .table = t};
}

OPEN_TABLE_INLINE NameKey key_of(const char *name) {
        return (NameKey){.name = name, .hash = (uint32_t) map_hash(name, strlen(name))};
}

OPEN_TABLE_INLINE NameSlot *probe(const NameTable *t, const NameKey *key) {
        OpenTable o = table_of(t, t->slots, t->n_slots);

        return open_table_probe(&o, key->hash, key, slot_holds);
}

static NameSlot *probe_old(const NameTable *t, const NameKey *key) {
        OpenTable o = table_of(t, t->old, name_table_n_old(t));

        return open_table_probe(&o, key->hash, key, slot_holds);
}

// ------------------------------------------------------------------------------------------------ growing

OPEN_TABLE_INLINE GrowingTable growing_of(const NameTable *t) {
        return (GrowingTable){.now = table_of(t, t->slots, t->n_slots),
                              .old = table_of(t, t->old, name_table_n_old(t)),
                              .old_left = t->old_left};
}

static int make_room(NameTable *t) {
        GrowingTable g = growing_of(t);
        int r = growing_table_make_room(&g, t->count);

        growing_table_keep(&g, t);
        return r;
}

// ------------------------------------------------------------------------------------------------ objects

// The slot of `key` and its table (*ret): the current one or the old one. The slot has no object if neither
// has the key.
static NameSlot *find_slot(const NameTable *t, const NameKey *key, OpenTable *ret) {
        NameSlot *s = probe(t, key);

        *ret = table_of(t, t->slots, t->n_slots);
        if (s->object || !t->old)
                return s;
        *ret = table_of(t, t->old, name_table_n_old(t));
        return probe_old(t, key);
}

void *name_table_find(const NameTable *t, const char *name) {
        OpenTable o;
        NameKey key;

        if (t->count == 0)
                return NULL;
        key = key_of(name);
        return find_slot(t, &key, &o)->object;
}

int name_table_add(NameTable *t, void *object) {
        NameKey key = key_of(t->name_of(object));
        NameSlot *s;
        int r = make_room(t);

        if (r < 0)
                return r;
        s = probe(t, &key);
        if (s->object || (t->old && probe_old(t, &key)->object))
                return -EEXIST;
        *s = (NameSlot){.object = object, .hash = key.hash};
        t->count++;
        return 0;
}

void *name_table_take(NameTable *t, const char *name) {
        OpenTable o;
        void *object;
        NameKey key;
        NameSlot *s;

        if (t->count == 0)
                return NULL;
        key = key_of(name);
        s = find_slot(t, &key, &o);
        object = s->object;
        if (!object)
                return NULL;
        open_table_remove(&o, s);
        if (--t->count == 0 && t->n_slots > GROWING_MIN_SLOTS)
                name_table_done(t);
        return object;
}

void *name_table_next(const NameTable *t, size_t *iter) {
        GrowingTable g = growing_of(t);
        NameSlot *slot = t->count > 0 ? growing_table_next(&g, iter) : NULL;

        return slot ? slot->object : NULL;
}
