// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Arrays that grow, slot numbers, lists of numbers, and counts by pairs (open addressing, backward shift
// when a count becomes zero, so that what is gone takes no room). Without memory the process ends (oom.h).
#include "placement-private.h"

void grow(void *array_pointer, uint32_t *allocated, uint32_t need, size_t item) {
        void **array = array_pointer, *larger;
        uint32_t n = *allocated;

        if (need <= n)
                return;
        if (need > UINT32_MAX / 2)
                oom_end();
        n = n ? n : 8;
        while (n < need)
                n += n < 1024 ? n / 2 : n / 4;
        larger = oom_checked(realloc(*array, n * item));
        memset((char *) larger + *allocated * item, 0, (n - *allocated) * item);
        *array = larger;
        *allocated = n;
}

void slots_take(Slots *s, uint32_t *ret) {
        if (s->n_free > 0)
                *ret = s->free[--s->n_free];
        else {
                uint32_t room = s->allocated;

                grow(&s->used, &s->allocated, s->n + 1, 1);
                grow(&s->free, &room, s->allocated, sizeof *s->free);
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

void slots_done(Slots *s) {
        free(s->used);
        free(s->free);
        *s = (Slots){0};
}

void number_add(Map *m, const char *text, uint32_t number) {
        oom_check(map_add_str(m, text,
                              (void *) (uintptr_t) (number + 1))); // NOLINT: a number in a pointer's place
}

void numbers_add(Numbers *l, uint32_t number) {
        grow(&l->of, &l->allocated, l->n + 1, sizeof *l->of);
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
        free(l->of);
        *l = (Numbers){0};
}

// ------------------------------------------------------------------------------------------------ counts

typedef struct CountSlot {
        uint32_t a, b;
        uint32_t value; // 0: free
} CountSlot;

static uint32_t home_of(const Counts *c, uint32_t a, uint32_t b) {
        uint64_t h = ((uint64_t) a << 32 | b) * UINT64_C(0x9e3779b97f4a7c15);

        return (uint32_t) (h >> 32) & (c->n_slots - 1);
}

static CountSlot *find(const Counts *c, uint32_t a, uint32_t b) {
        uint32_t i = home_of(c, a, b);

        while (c->slots[i].value && (c->slots[i].a != a || c->slots[i].b != b))
                i = (i + 1) & (c->n_slots - 1);
        return &c->slots[i];
}

uint32_t counts_get(const Counts *c, uint32_t a, uint32_t b) {
        return c->n_slots ? find(c, a, b)->value : 0;
}

static void widen(Counts *c) {
        Counts larger = {.n_slots = c->n_slots ? 2 * c->n_slots : 16, .count = c->count};

        larger.slots = oom_checked(calloc(larger.n_slots, sizeof *larger.slots));
        for (uint32_t i = 0; i < c->n_slots; i++)
                if (c->slots[i].value)
                        *find(&larger, c->slots[i].a, c->slots[i].b) = c->slots[i];
        free(c->slots);
        *c = larger;
}

// Those behind it that it kept from their place move up.
static void remove_slot(Counts *c, uint32_t hole) {
        uint32_t mask = c->n_slots - 1;

        for (uint32_t i = (hole + 1) & mask; c->slots[i].value; i = (i + 1) & mask) {
                uint32_t home = home_of(c, c->slots[i].a, c->slots[i].b);

                if (((i - home) & mask) >= ((i - hole) & mask)) {
                        c->slots[hole] = c->slots[i];
                        hole = i;
                }
        }
        c->slots[hole] = (CountSlot){0};
        c->count--;
}

void counts_set(Counts *c, uint32_t a, uint32_t b, uint32_t value) {
        CountSlot *slot;

        if (4 * (c->count + 1) > 3 * c->n_slots)
                widen(c);
        slot = find(c, a, b);
        if (value == 0) {
                if (slot->value)
                        remove_slot(c, (uint32_t) (slot - c->slots));
                return;
        }
        c->count += slot->value == 0;
        *slot = (CountSlot){a, b, value};
}

void counts_done(Counts *c) {
        free(c->slots);
        *c = (Counts){0};
}
