// SPDX-License-Identifier: LGPL-2.1-or-later
//
// As map.c: open addressing with linear probing, at most 3/4 full, and a removal shifts the following
// objects back; map_next() says why one may remove while walking. Where an object belongs is not noted
// anywhere: its name says so.

#include <errno.h>

#include "map.h"
#include "name-table.h"

enum { TABLE_MIN_SLOTS = 8 };

void name_table_done(NameTable *t) {
        free(t->slots);
        *t = (NameTable){.name_of = t->name_of};
}

static size_t home_of(const NameTable *t, const char *name) {
        return map_hash(name, strlen(name)) & (t->n_slots - 1);
}

// The slot of the object with that name, or the free slot where it belongs. The table must have a free slot.
static size_t probe(const NameTable *t, const char *name) {
        size_t i = home_of(t, name);

        while (t->slots[i] && !streq(t->name_of(t->slots[i]), name))
                i = (i + 1) & (t->n_slots - 1);
        return i;
}

static int grow(NameTable *t) {
        NameTable bigger = {.name_of = t->name_of,
                            .n_slots = t->n_slots ? t->n_slots * 2 : TABLE_MIN_SLOTS,
                            .count = t->count};
        size_t at;

        bigger.slots = calloc(bigger.n_slots, sizeof(void *));
        if (!bigger.slots)
                return -ENOMEM;
        for (size_t i = 0; i < t->n_slots; i++) {
                if (!t->slots[i])
                        continue;
                // All names differ, so none needs to be compared.
                at = home_of(&bigger, t->name_of(t->slots[i]));
                while (bigger.slots[at])
                        at = (at + 1) & (bigger.n_slots - 1);
                bigger.slots[at] = t->slots[i];
        }
        free(t->slots);
        *t = bigger;
        return 0;
}

void *name_table_find(const NameTable *t, const char *name) {
        return t->count > 0 ? t->slots[probe(t, name)] : NULL;
}

int name_table_add(NameTable *t, void *object) {
        const char *name = t->name_of(object);
        size_t i;
        int r;

        if (t->count + 1 > t->n_slots / 4 * 3) {
                r = grow(t);
                if (r < 0)
                        return r;
        }
        i = probe(t, name);
        if (t->slots[i])
                return -EEXIST;
        t->slots[i] = object;
        t->count++;
        return 0;
}

void *name_table_take(NameTable *t, const char *name) {
        size_t mask = t->n_slots - 1, hole, i;
        void *object;

        if (t->count == 0)
                return NULL;
        hole = probe(t, name);
        object = t->slots[hole];
        if (!object)
                return NULL;
        for (i = (hole + 1) & mask; t->slots[i]; i = (i + 1) & mask) {
                size_t home = home_of(t, t->name_of(t->slots[i]));

                // May move back only if its home is not cyclically in (hole, i].
                if (((i - home) & mask) >= ((i - hole) & mask)) {
                        t->slots[hole] = t->slots[i];
                        hole = i;
                }
        }
        t->slots[hole] = NULL;
        if (--t->count == 0 && t->n_slots > TABLE_MIN_SLOTS)
                name_table_done(t);
        return object;
}

// *iter as that of map_next(): its low half holds where the walk began, the slot below which is the first to
// be met, the high half how far it is.
void *name_table_next(const NameTable *t, size_t *iter) {
        size_t start = 0;

        if (t->count == 0)
                return NULL;
        if (*iter == 0) {
                while (t->slots[start])
                        start++;
                *iter = start + 1; // biased by one: 0 means "not begun"
        }
        for (size_t begun = (*iter & UINT32_MAX) - 1, n = *iter >> 32; n < t->n_slots; n++) {
                size_t i = (begun - 1 - n) & (t->n_slots - 1);

                if (t->slots[i]) {
                        *iter = ((n + 1) << 32) | (begun + 1);
                        return t->slots[i];
                }
        }
        *iter = (t->n_slots << 32) | (*iter & UINT32_MAX);
        return NULL;
}
