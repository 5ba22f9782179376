// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the tables of a Placement are made of: arrays that grow, numbers in use, counts, lists, bits. Without
// memory the process ends.

#include "map.h"
#include "oom.h"
#include "placement.h"

typedef uint64_t Word;
enum { WORD_BITS = 64 };

static inline bool bit_test(const Word *bits, uint32_t i) {
        return bits[i / WORD_BITS] >> (i % WORD_BITS) & 1;
}
static inline void bit_set(Word *bits, uint32_t i) {
        bits[i / WORD_BITS] |= (Word) 1 << (i % WORD_BITS);
}
static inline void bit_clear(Word *bits, uint32_t i) {
        bits[i / WORD_BITS] &= ~((Word) 1 << (i % WORD_BITS));
}

// A table has room for `allocated` items of `item` bytes each. The same `allocated` and `item` are passed
// when it is freed or copied, since a large one is mapped memory: it grows without being copied, so that
// room for one unit more never costs as much as all units.

// Makes room for `need` items; what is new is zero.
void table_grow(void *table_pointer, uint32_t *allocated, uint32_t need, size_t item);
// As many items as that, in a table with room for no more.
void *table_copy(const void *table, uint32_t n, size_t item);
void table_free(void *table, uint32_t allocated, size_t item);

// Numbers in use; the one that was given back last is handed out first.
typedef struct Slots {
        uint8_t *used;
        uint32_t *free, n_free; // room for all of them
        uint32_t n, allocated;
        uint32_t count;
} Slots;
void slots_take(Slots *s, uint32_t *ret);
void slots_give(Slots *s, uint32_t slot);
void slots_done(Slots *s);
size_t slots_bytes(const Slots *s);
static inline bool slots_has(const Slots *s, uint32_t slot) {
        return slot < s->n && s->used[slot];
}

// Counts by a pair of numbers; what is zero takes no room.
typedef struct Counts {
        struct CountSlot *slots;
        uint32_t n_slots, count;
} Counts;
uint32_t counts_get(const Counts *c, uint32_t a, uint32_t b);
void counts_set(Counts *c, uint32_t a, uint32_t b, uint32_t value);
void counts_own(Counts *c); // slots of its own that say the same, instead of those that it has
void counts_done(Counts *c);
size_t counts_bytes(const Counts *c);

// Numbers by a text that somebody else keeps.
static inline uint32_t number_of(const Map *m, const char *text) {
        return (uint32_t) (uintptr_t) map_find_str(m, text); // + 1; 0: none
}
void number_add(Map *m, const char *text, uint32_t number);

// A list of numbers.
typedef struct Numbers {
        uint32_t *of, n, allocated;
} Numbers;
void numbers_add(Numbers *l, uint32_t number);
void numbers_drop(Numbers *l, uint32_t number); // one occurrence; the order changes
void numbers_done(Numbers *l);
