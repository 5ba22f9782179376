// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An OpenTable of objects. Where an object belongs is not noted anywhere: its name says so.

#include <errno.h>

#include "map.h"
#include "name-table.h"
#include "open-table.h"

enum { TABLE_MIN_SLOTS = 8 };

void name_table_done(NameTable *t) {
        free(t->slots);
        *t = (NameTable){.name_of = t->name_of};
}

static bool slot_is_used(const void *slot) {
        return *(void *const *) slot;
}

static size_t slot_hash(const void *table, const void *slot) {
        const char *name = ((const NameTable *) table)->name_of(*(void *const *) slot);

        return map_hash(name, strlen(name));
}

static bool slot_holds(const OpenTable *t, const void *slot, const void *key) {
        return streq(((const NameTable *) t->table)->name_of(*(void *const *) slot), key);
}

OPEN_TABLE_INLINE OpenTable table_of(const NameTable *t) {
        return (OpenTable){.slots = (char *) t->slots,
                           .n_slots = t->n_slots,
                           .slot_size = sizeof(void *),
                           .is_used = slot_is_used,
                           .hash = slot_hash,
                           .table = t};
}

OPEN_TABLE_INLINE void **probe(const NameTable *t, const char *name) {
        OpenTable o = table_of(t);

        return open_table_probe(&o, map_hash(name, strlen(name)), name, slot_holds);
}

static int grow(NameTable *t) {
        OpenTable o = table_of(t);
        int r = open_table_resize(&o, t->n_slots ? 2 * t->n_slots : TABLE_MIN_SLOTS);

        t->slots = (void **) o.slots;
        t->n_slots = o.n_slots;
        return r;
}

void *name_table_find(const NameTable *t, const char *name) {
        return t->count > 0 ? *probe(t, name) : NULL;
}

int name_table_add(NameTable *t, void *object) {
        void **slot;
        int r;

        if (open_table_is_full(t->n_slots, t->count)) {
                r = grow(t);
                if (r < 0)
                        return r;
        }
        slot = probe(t, t->name_of(object));
        if (*slot)
                return -EEXIST;
        *slot = object;
        t->count++;
        return 0;
}

void *name_table_take(NameTable *t, const char *name) {
        OpenTable o = table_of(t);
        void **slot, *object;

        if (t->count == 0)
                return NULL;
        slot = probe(t, name);
        object = *slot;
        if (!object)
                return NULL;
        open_table_remove(&o, slot);
        if (--t->count == 0 && t->n_slots > TABLE_MIN_SLOTS)
                name_table_done(t);
        return object;
}

void *name_table_next(const NameTable *t, size_t *iter) {
        OpenTable o = table_of(t);
        void **slot = t->count > 0 ? open_table_next(&o, iter) : NULL;

        return slot ? *slot : NULL;
}
