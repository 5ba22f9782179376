// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The placement's containers: arrays that grow, slot numbers, lists of numbers, and counts by pairs of
// numbers.
//
//      table_grow() -> zeroed items; slots_take()
//          -> slots_give(); counts_set() with 0 frees its slot (an OpenTable)
//
// From MAPPED_BYTES on an array is pages of its own. Without memory the process ends (oom.h).

#include <sys/mman.h>

#include "open-table.h"
#include "placement-private.h"

// Arrays of this size are mapped: the kernel grows them by moving pages, and only written pages take memory.
// In the heap an array of 300,000 units was copied, in 11 ms.
enum { MAPPED_BYTES = 256 * 1024 };

static bool is_mapped(size_t bytes) {
        return bytes >= MAPPED_BYTES;
}

static void *map_pages(size_t bytes) {
        void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return oom_checked(pages == MAP_FAILED ? NULL : pages);
}

// Grows `table`; the bytes behind `before` are zero.
static void *with_room(void *table, size_t before, size_t bytes) {
        void *larger;

        if (!is_mapped(bytes)) {
                larger = oom_checked(realloc(table, bytes));
                memset((char *) larger + before, 0, bytes - before);
        } else if (is_mapped(before)) {
                larger = mremap(table, before, bytes, MREMAP_MAYMOVE);
                larger = oom_checked(larger == MAP_FAILED ? NULL : larger);
        } else {
                larger = map_pages(bytes);
                if (before > 0)
                        memcpy(larger, table, before);
                free(table);
        }
        return larger;
}

void *table_copy(const void *table, uint32_t n, size_t item) {
        size_t bytes = n * item;
        void *copy = is_mapped(bytes) ? map_pages(bytes) : oom_checked(malloc(bytes + 1));

        if (bytes > 0)
                memcpy(copy, table, bytes);
        return copy;
}

void table_free(void *table, uint32_t allocated, size_t item) {
        if (is_mapped(allocated * item))
                (void) munmap(table, allocated * item);
        else
                free(table);
}

void table_grow(void *table_pointer, uint32_t *allocated, uint32_t need, size_t item) {
        void **table = table_pointer;
        uint32_t n = *allocated;

        if (need <= n)
                return;
        if (need > UINT32_MAX / 2)
                oom_end();
        n = MAX_OF(n, 8U);
        while (n < need)
                n += n < 1024 ? n / 2 : n / 4;
        *table = with_room(*table, *allocated * item, n * item);
        *allocated = n;
}

void slots_take(Slots *s, uint32_t *ret) {
        if (s->n_free > 0)
                *ret = s->free[--s->n_free];
        else {
                uint32_t room = s->allocated;

                table_grow(&s->used, &s->allocated, s->n + 1, 1);
                table_grow(&s->free, &room, s->allocated, sizeof *s->free);
                *ret = s->n++;
        }
        s->used[*ret] = true;
        s->count++;
}

void slots_give(Slots *s, uint32_t slot) {
        assert(slots_has(s, slot));
        s->used[slot] = false;
        s->count--;
        s->free[s->n_free++] = slot;
}

size_t slots_bytes(const Slots *s) {
        return s->allocated * (sizeof *s->used + sizeof *s->free);
}

void slots_done(Slots *s) {
        table_free(s->used, s->allocated, sizeof *s->used);
        table_free(s->free, s->allocated, sizeof *s->free);
        *s = (Slots){0};
}

void number_add(Map *m, const char *text, uint32_t number) {
        oom_check(map_add_str(m, text,
                              (void *) (uintptr_t) (number + 1))); // NOLINT: a number in a pointer's place
}

void numbers_add(Numbers *l, uint32_t number) {
        table_grow(&l->of, &l->allocated, l->n + 1, sizeof *l->of);
        l->of[l->n++] = number;
}

void numbers_drop(Numbers *l, uint32_t number) {
        for (uint32_t i = 0; i < l->n; i++)
                if (l->of[i] == number) {
                        l->of[i] = l->of[--l->n];
                        return;
                }
}

void numbers_done(Numbers *l) {
        table_free(l->of, l->allocated, sizeof *l->of);
        *l = (Numbers){0};
}

// ------------------------------------------------------------------------------------------------ counts

enum { COUNTS_MIN_SLOTS = 16 };

typedef struct CountSlot {
        uint32_t a, b;
        uint32_t value; // 0: free
} CountSlot;

static size_t count_hash(const void *table, const void *slot) {
        const CountSlot *s = slot;

        return (size_t) (((uint64_t) s->a << 32 | s->b) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static bool count_is_used(const void *slot) {
        return ((const CountSlot *) slot)->value;
}

static bool count_is_of(const OpenTable *t, const void *slot, const void *key) {
        const CountSlot *s = slot, *k = key;

        return s->a == k->a && s->b == k->b;
}

static inline OpenTable counts_table(const Counts *c) {
        return (OpenTable){.slots = (char *) c->slots,
                           .n_slots = c->n_slots,
                           .slot_size = sizeof(CountSlot),
                           .is_used = count_is_used,
                           .hash = count_hash};
}

static CountSlot *find(const Counts *c, uint32_t a, uint32_t b) {
        OpenTable t = counts_table(c);
        CountSlot key = {.a = a, .b = b};

        return open_table_probe(&t, count_hash(c, &key), &key, count_is_of);
}

uint32_t counts_get(const Counts *c, uint32_t a, uint32_t b) {
        return c->n_slots ? find(c, a, b)->value : 0;
}

static void widen(Counts *c) {
        OpenTable t = counts_table(c);

        oom_check(open_table_resize(&t, c->n_slots ? 2 * (size_t) c->n_slots : COUNTS_MIN_SLOTS));
        c->slots = (CountSlot *) t.slots;
        c->n_slots = (uint32_t) t.n_slots;
}

void counts_set(Counts *c, uint32_t a, uint32_t b, uint32_t value) {
        OpenTable t;
        CountSlot *slot;

        if (open_table_is_full(c->n_slots, c->count))
                widen(c);
        slot = find(c, a, b);
        if (value == 0) {
                if (slot->value == 0)
                        return;
                t = counts_table(c);
                open_table_remove(&t, slot);
                c->count--;
                return;
        }
        c->count += slot->value == 0;
        *slot = (CountSlot){a, b, value};
}

void counts_own(Counts *c) {
        const CountSlot *theirs = c->slots;

        if (!theirs)
                return;
        c->slots = oom_checked(malloc(c->n_slots * sizeof *c->slots));
        memcpy(c->slots, theirs, c->n_slots * sizeof *c->slots);
}

size_t counts_bytes(const Counts *c) {
        return c->n_slots * sizeof *c->slots;
}

void counts_done(Counts *c) {
        free(c->slots);
        *c = (Counts){0};
}
