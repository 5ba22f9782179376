// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Blocks of up to BLOCK units, each sorted, and sorted themselves: a name is looked for among the first ones
// of the blocks, then in one of them. A block that is full is halved; but behind the last of all a new one
// begins, so names that come in their order, as those of a snapshot do, leave full ones. A block without
// units is taken out. Nothing moves but what stands in one block, and the pointers to blocks: 8 bytes for
// each unit, 16 at worst.

#include "unit-order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "sorted.h"

enum { BLOCK = 256 };

struct UnitBlock {
        size_t n;
        UnitEntry *units[BLOCK];
};

static const char *name_of(const UnitEntry *u) {
        return u->record->name;
}

void unit_order_done(UnitOrder *o) {
        for (size_t i = 0; i < o->n_blocks; i++)
                free(o->blocks[i]);
        free(o->blocks);
        *o = (UnitOrder){};
}

// The last block whose first name is not behind that one; the first block, if there is none.
static size_t find_block(const UnitOrder *o, const char *name) {
        size_t n = SORTED_COUNT(o->n_blocks, i, strcmp(name_of(o->blocks[i]->units[0]), name) <= 0);

        return n > 0 ? n - 1 : 0;
}

// How many of the block's are not behind that name.
static size_t count_up_to(const UnitBlock *b, const char *name) {
        return SORTED_COUNT(b->n, i, strcmp(name_of(b->units[i]), name) <= 0);
}

// NULL: out of memory.
static UnitBlock *add_block(UnitOrder *o, size_t at) {
        UnitBlock *b;

        if (ARRAY_GROW(o->blocks, o->allocated, o->n_blocks + 1) < 0 || !(b = calloc(1, sizeof(*b))))
                return NULL;
        memmove(o->blocks + at + 1, o->blocks + at, (o->n_blocks - at) * sizeof(*o->blocks));
        o->blocks[at] = b;
        o->n_blocks++;
        return b;
}

static bool halve(UnitOrder *o, size_t at) {
        UnitBlock *b = o->blocks[at], *second = add_block(o, at + 1);

        if (!second)
                return false;
        second->n = b->n / 2;
        b->n -= second->n;
        memcpy(second->units, b->units + b->n, second->n * sizeof(*b->units));
        return true;
}

static void insert(UnitBlock *b, size_t at, UnitEntry *unit) {
        memmove(b->units + at + 1, b->units + at, (b->n - at) * sizeof(*b->units));
        b->units[at] = unit;
        b->n++;
}

int unit_order_add(UnitOrder *o, UnitEntry *unit) {
        size_t block = find_block(o, name_of(unit)), at = 0;
        UnitBlock *b = o->n_blocks > 0 ? o->blocks[block] : NULL;

        if (b)
                at = count_up_to(b, name_of(unit));
        if (!b || (b->n == BLOCK && at == BLOCK && block + 1 == o->n_blocks)) {
                b = add_block(o, o->n_blocks);
                at = 0;
        } else if (b->n == BLOCK) {
                if (!halve(o, block))
                        return -ENOMEM;
                if (at > b->n) {
                        at -= b->n;
                        b = o->blocks[block + 1];
                }
        }
        if (!b)
                return -ENOMEM;
        insert(b, at, unit);
        return 0;
}

void unit_order_remove(UnitOrder *o, const UnitEntry *unit) {
        size_t block = find_block(o, name_of(unit));
        UnitBlock *b = o->blocks[block];
        size_t behind = count_up_to(b, name_of(unit));

        memmove(b->units + behind - 1, b->units + behind, (b->n - behind) * sizeof(*b->units));
        if (--b->n > 0)
                return;
        free(b);
        o->n_blocks--;
        memmove(o->blocks + block, o->blocks + block + 1, (o->n_blocks - block) * sizeof(*o->blocks));
}

UnitEntry *unit_order_next(const UnitOrder *o, const char *name) {
        size_t block = find_block(o, name), at;

        if (block == o->n_blocks)
                return NULL;
        at = count_up_to(o->blocks[block], name);
        if (at < o->blocks[block]->n)
                return o->blocks[block]->units[at];
        return block + 1 < o->n_blocks ? o->blocks[block + 1]->units[0] : NULL;
}

static bool is_at(const UnitOrder *o, const UnitEntry *unit, const UnitPlace *p) {
        return p->block < o->n_blocks && p->at < o->blocks[p->block]->n &&
               o->blocks[p->block]->units[p->at] == unit;
}

UnitEntry *unit_order_behind(const UnitOrder *o, const UnitEntry *unit, UnitPlace *place) {
        if (!is_at(o, unit, place)) {
                place->block = find_block(o, name_of(unit));
                place->at = count_up_to(o->blocks[place->block], name_of(unit)) - 1;
        }
        if (++place->at == o->blocks[place->block]->n)
                *place = (UnitPlace){.block = place->block + 1};
        return place->block < o->n_blocks ? o->blocks[place->block]->units[place->at] : NULL;
}

int unit_order_each(const UnitOrder *o, const char *prefix, UnitEntryEach each, void *userdata) {
        size_t len = strlen(prefix), block = find_block(o, prefix), at = 0;

        if (block < o->n_blocks)
                at = SORTED_COUNT(o->blocks[block]->n, i,
                                  strcmp(name_of(o->blocks[block]->units[i]), prefix) < 0);
        for (; block < o->n_blocks; block++, at = 0)
                for (; at < o->blocks[block]->n; at++) {
                        UnitEntry *u = o->blocks[block]->units[at];
                        int r;

                        if (strncmp(name_of(u), prefix, len) != 0)
                                return 0;
                        r = each(u, userdata);
                        if (r != 0)
                                return r;
                }
        return 0;
}
