// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An OpenTable of objects; a slot keeps half of the hash of the name, so that few names are looked at, and none to grow. How it
// grows, and why that may happen at any moment, is as in map.c.

#include <errno.h>

#include "map.h"
#include "name-table.h"
#include "open-table.h"

enum {
        TABLE_MIN_SLOTS = 8,
        MOVED_SLOTS = 96, // as map.c has it
};

// In the lower half of an iterator, where no place can be: the walk is over the new table.
#define WALKS_NEW ((size_t) 1 << 31)

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

static void move(NameTable *t, NameSlot *slot) {
        OpenTable o = table_of(t, t->slots, t->n_slots);

        if (!slot->object)
                return;
        *(NameSlot *) open_table_free_slot(&o, slot->hash) = *slot;
        *slot = (NameSlot){};
}

static void move_some(NameTable *t) {
        for (unsigned n = 0; n < MOVED_SLOTS && t->old_left > 0; n++)
                move(t, &t->old[--t->old_left]);
        if (t->old_left > 0)
                return;
        free(t->old);
        t->old = NULL;
}

// What wraps round the end of the table, if anything does, moves first.
static void move_first(NameTable *t) {
        size_t n = 0;

        while (t->old[n].object)
                n++;
        while (n > 0)
                move(t, &t->old[--n]);
}

static int grow(NameTable *t) {
        size_t n = t->n_slots ? 2 * t->n_slots : TABLE_MIN_SLOTS;
        NameSlot *slots = calloc(n, sizeof(*slots));

        assert(!t->old);
        if (!slots)
                return -ENOMEM;
        t->old = t->slots;
        t->old_left = t->n_slots;
        t->slots = slots;
        t->n_slots = n;
        if (t->old)
                move_first(t);
        return 0;
}

// ------------------------------------------------------------------------------------------------ objects

// Where it is, and in which of the two tables: a slot without an object if it is in neither.
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
        int r;

        if (open_table_is_full(t->n_slots, t->count)) {
                r = grow(t);
                if (r < 0)
                        return r;
        }
        if (t->old)
                move_some(t);
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
        if (--t->count == 0 && t->n_slots > TABLE_MIN_SLOTS)
                name_table_done(t);
        return object;
}

// The old table first, if there is one: nothing moves while somebody walks.
void *name_table_next(const NameTable *t, size_t *iter) {
        OpenTable o = table_of(t, t->slots, t->n_slots), old = table_of(t, t->old, name_table_n_old(t));
        size_t at = *iter & ~WALKS_NEW;
        NameSlot *slot;

        if (t->count == 0)
                return NULL;
        if (t->old && !(*iter & WALKS_NEW)) {
                slot = open_table_next(&old, iter);
                if (slot)
                        return slot->object;
                at = 0;
        }
        slot = open_table_next(&o, &at);
        *iter = at | WALKS_NEW;
        return slot ? slot->object : NULL;
}
