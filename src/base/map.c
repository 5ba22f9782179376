// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An OpenTable of keys and values; a slot keeps half of its hash, so that growing and removing hash nothing and
// few keys are compared. The slots of many are given back with the last of them: a map of what is under way
// costs nothing when nothing is.

#include <errno.h>
#include <sys/random.h>

#include "map.h"
#include "open-table.h"

enum { MAP_MIN_SLOTS = 8 };

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

uint64_t map_hash(const void *data, size_t len) {
        const uint8_t *p = data;
        uint64_t k0, k1, m, v0, v1, v2, v3;

        if (!map_seeded) {
                if (getrandom(map_seed, sizeof(map_seed), 0) != sizeof(map_seed))
                        abort(); // cannot happen for 16 bytes once the kernel has booted
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
                SIPROUND;
                v0 ^= m;
        }
        m = (uint64_t) len << 56;
        for (size_t i = 0; i < len % 8; i++)
                m |= (uint64_t) p[i] << (8 * i);
        v3 ^= m;
        SIPROUND;
        SIPROUND;
        v0 ^= m;
        v2 ^= 0xff;
        SIPROUND;
        SIPROUND;
        SIPROUND;
        SIPROUND;
        return v0 ^ v1 ^ v2 ^ v3;
}

void map_done(Map *m) {
        free(m->slots);
        *m = (Map){};
}

void map_done_with(Map *m, void (*free_value)(void *value)) {
        for (size_t i = 0; i < m->n_slots; i++)
                if (m->slots[i].key)
                        free_value(m->slots[i].value);
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

OPEN_TABLE_INLINE OpenTable table_of(const Map *m) {
        return (OpenTable){.slots = (char *) m->slots,
                           .n_slots = m->n_slots,
                           .slot_size = sizeof(MapSlot),
                           .is_used = slot_is_used,
                           .hash = slot_hash};
}

OPEN_TABLE_INLINE MapSlot key_of(const void *key, size_t key_len) {
        return (MapSlot){.key = key, .key_len = (uint32_t) key_len, .hash = (uint32_t) map_hash(key, key_len)};
}

OPEN_TABLE_INLINE MapSlot *probe(const Map *m, const MapSlot *key) {
        OpenTable t = table_of(m);

        return open_table_probe(&t, key->hash, key, slot_holds);
}

static int grow(Map *m) {
        OpenTable t = table_of(m);
        int r = open_table_resize(&t, m->n_slots ? 2 * m->n_slots : MAP_MIN_SLOTS);

        m->slots = (MapSlot *) t.slots;
        m->n_slots = t.n_slots;
        return r;
}

void *map_find(const Map *m, const void *key, size_t key_len) {
        MapSlot k;

        if (m->count == 0)
                return NULL;
        k = key_of(key, key_len);
        return probe(m, &k)->value; // a free slot's value is NULL
}

int map_add(Map *m, const void *key, size_t key_len, void *value) {
        MapSlot k = key_of(key, key_len), *s;
        int r;

        assert(value && key && key_len <= UINT32_MAX);
        if (open_table_is_full(m->n_slots, m->count)) {
                r = grow(m);
                if (r < 0)
                        return r;
        }
        s = probe(m, &k);
        if (s->key)
                return -EEXIST;
        k.value = value;
        *s = k;
        m->count++;
        return 0;
}

void *map_take(Map *m, const void *key, size_t key_len) {
        OpenTable t = table_of(m);
        MapSlot k, *s;
        void *value;

        if (m->count == 0)
                return NULL;
        k = key_of(key, key_len);
        s = probe(m, &k);
        if (!s->key)
                return NULL;
        value = s->value;
        open_table_remove(&t, s);
        if (--m->count == 0 && m->n_slots > MAP_MIN_SLOTS)
                map_done(m);
        return value;
}

MapSlot *map_next(const Map *m, size_t *iter) {
        OpenTable t = table_of(m);

        return m->count > 0 ? open_table_next(&t, iter) : NULL;
}
