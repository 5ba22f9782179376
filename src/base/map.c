// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An OpenTable of keys and values; a slot keeps half of its hash, so that growing and removing hash nothing
// and few keys are compared. The slots of many are given back with the last of them: a map of what is under
// way costs nothing when nothing is.
//
// How it grows: growing-table.h.
//
// Failures: -ENOMEM when a new table is due, and nothing has changed.

#include <endian.h>
#include <errno.h>

#include "growing-table.h"
#include "map.h"
#include "random.h"
#include "str.h"

static uint8_t map_seed[16];
static bool map_seeded;

void map_set_seed(const uint8_t seed[16]) {
        memcpy(map_seed, seed, sizeof(map_seed));
        map_seeded = true;
}

static uint64_t rotl(uint64_t x, int b) {
        return (x << b) | (x >> (64 - b));
}

#define SIPROUND                                                     \
        do {                                                         \
                v0 += v1, v1 = rotl(v1, 13) ^ v0, v0 = rotl(v0, 32); \
                v2 += v3, v3 = rotl(v3, 16) ^ v2;                    \
                v0 += v3, v3 = rotl(v3, 21) ^ v0;                    \
                v2 += v1, v1 = rotl(v1, 17) ^ v2, v2 = rotl(v2, 32); \
        } while (0)

// Those behind the last whole word of `len`, from `p` on; the first one is the lowest.
static uint64_t last_bytes(const uint8_t *p, size_t len) {
        size_t n = len % 8;
        uint64_t word = 0;

        if (n > 0 && len >= 8) { // together with those before, and without these
                memcpy(&word, p + n - 8, 8);
                return le64toh(word) >> (8 * (8 - n));
        }
        for (size_t i = 0; i < n; i++)
                word |= (uint64_t) p[i] << (8 * i);
        return word;
}

uint64_t map_hash(const void *data, size_t len) {
        const uint8_t *p = data;
        uint64_t k0, k1, m, v0, v1, v2, v3;

        if (!map_seeded) {
                random_bytes(map_seed, sizeof(map_seed));
                map_seeded = true;
        }
        memcpy(&k0, map_seed, 8);
        memcpy(&k1, map_seed + 8, 8);
        v0 = k0 ^ UINT64_C(0x736f6d6570736575);
        v1 = k1 ^ UINT64_C(0x646f72616e646f6d);
        v2 = k0 ^ UINT64_C(0x6c7967656e657261);
        v3 = k1 ^ UINT64_C(0x7465646279746573);
        for (size_t left = len; left >= 8; left -= 8, p += 8) {
                memcpy(&m, p, 8);
                v3 ^= m;
                SIPROUND;
                v0 ^= m;
        }
        m = (uint64_t) len << 56 | last_bytes(p, len);
        v3 ^= m;
        SIPROUND;
        v0 ^= m;
        v2 ^= 0xff;
        SIPROUND;
        SIPROUND;
        SIPROUND;
        return v0 ^ v1 ^ v2 ^ v3;
}

void map_done(Map *m) {
        free(m->slots);
        free(m->old);
        *m = (Map){};
}

static void free_values(const MapSlot *slots, size_t n, void (*free_value)(void *value)) {
        for (size_t i = 0; i < n; i++)
                if (slots[i].key)
                        free_value(slots[i].value);
}

void map_done_with(Map *m, void (*free_value)(void *value)) {
        free_values(m->slots, m->n_slots, free_value);
        free_values(m->old, map_n_old(m), free_value);
        map_done(m);
}

static bool slot_is_used(const void *slot) {
        return ((const MapSlot *) slot)->key;
}

static size_t slot_hash(const void *table, const void *slot) {
        return ((const MapSlot *) slot)->hash;
}

static bool slot_holds(const OpenTable *t, const void *slot, const void *key) {
        const MapSlot *s = slot, *k = key;

        return s->hash == k->hash && s->key_len == k->key_len && memcmp(s->key, k->key, k->key_len) == 0;
}

OPEN_TABLE_INLINE OpenTable table_of(MapSlot *slots, size_t n_slots) {
        return (OpenTable){.slots = (char *) slots,
                           .n_slots = n_slots,
                           .slot_size = sizeof(MapSlot),
                           .is_used = slot_is_used,
                           .hash = slot_hash};
}

OPEN_TABLE_INLINE MapSlot key_of(const void *key, size_t key_len) {
        return (MapSlot){
                .key = key, .key_len = (uint32_t) key_len, .hash = (uint32_t) map_hash(key, key_len)};
}

OPEN_TABLE_INLINE MapSlot *probe(const Map *m, const MapSlot *key) {
        OpenTable t = table_of(m->slots, m->n_slots);

        return open_table_probe(&t, key->hash, key, slot_holds);
}

static MapSlot *probe_old(const Map *m, const MapSlot *key) {
        OpenTable t = table_of(m->old, map_n_old(m));

        return open_table_probe(&t, key->hash, key, slot_holds);
}

// ------------------------------------------------------------------------------------------------ growing

OPEN_TABLE_INLINE GrowingTable growing_of(const Map *m) {
        return (GrowingTable){.now = table_of(m->slots, m->n_slots),
                              .old = table_of(m->old, map_n_old(m)),
                              .old_left = m->old_left};
}

static int make_room(Map *m) {
        GrowingTable g = growing_of(m);
        int r = growing_table_make_room(&g, m->count);

        growing_table_keep(&g, m);
        return r;
}

// ------------------------------------------------------------------------------------------------ entries

void *map_find(const Map *m, const void *key, size_t key_len) {
        MapSlot k, *s;

        if (m->count == 0)
                return NULL;
        k = key_of(key, key_len);
        s = probe(m, &k);
        if (!s->key && m->old)
                s = probe_old(m, &k);
        return s->value; // a free slot's value is NULL
}

int map_add(Map *m, const void *key, size_t key_len, void *value) {
        MapSlot k = key_of(key, key_len), *s;
        int r;

        assert(value && key && key_len <= UINT32_MAX);
        r = make_room(m);
        if (r < 0)
                return r;
        s = probe(m, &k);
        if (s->key || (m->old && probe_old(m, &k)->key))
                return -EEXIST;
        k.value = value;
        *s = k;
        m->count++;
        return 0;
}

void *map_new_str(Map *m, size_t size, size_t at, const char *key) {
        char *new = str_new_with(size, at, key);

        if (new &&map_add_str(m, new + at, new) < 0) {
                free(new);
                return NULL;
        }
        return new;
}

void *map_take(Map *m, const void *key, size_t key_len) {
        OpenTable t = table_of(m->slots, m->n_slots);
        MapSlot k, *s;
        void *value;

        if (m->count == 0)
                return NULL;
        k = key_of(key, key_len);
        s = probe(m, &k);
        if (!s->key && m->old) {
                t = table_of(m->old, map_n_old(m));
                s = probe_old(m, &k);
        }
        if (!s->key)
                return NULL;
        value = s->value;
        open_table_remove(&t, s);
        if (--m->count == 0 && m->n_slots > GROWING_MIN_SLOTS)
                map_done(m);
        return value;
}

MapSlot *map_next(const Map *m, size_t *iter) {
        GrowingTable g = growing_of(m);

        return m->count > 0 ? growing_table_next(&g, iter) : NULL;
}
