// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Open addressing with linear probing, at most 3/4 full. Removal shifts the following entries back instead
// of leaving tombstones, so lookups stay short however long the map lives; see map_next() for why one may
// remove while walking. The slots of many are given back with the last of them: a map of what is under way
// costs nothing when nothing is.

#include <errno.h>
#include <sys/random.h>

#include "map.h"

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

// The slot that holds the key, or the free slot where it belongs. The map must have a free slot.
static MapSlot *probe(const Map *m, uint32_t hash, const void *key, size_t key_len) {
        for (size_t i = hash & (m->n_slots - 1);; i = (i + 1) & (m->n_slots - 1)) {
                MapSlot *s = &m->slots[i];

                if (!s->key ||
                    (s->hash == hash && s->key_len == key_len && memcmp(s->key, key, key_len) == 0))
                        return s;
        }
}

static int grow(Map *m) {
        Map bigger = {.n_slots = m->n_slots ? m->n_slots * 2 : MAP_MIN_SLOTS, .count = m->count};

        bigger.slots = calloc(bigger.n_slots, sizeof(MapSlot));
        if (!bigger.slots)
                return -ENOMEM;
        for (size_t i = 0; i < m->n_slots; i++)
                if (m->slots[i].key)
                        *probe(&bigger, m->slots[i].hash, m->slots[i].key, m->slots[i].key_len) =
                                m->slots[i];
        free(m->slots);
        *m = bigger;
        return 0;
}

void *map_find(const Map *m, const void *key, size_t key_len) {
        if (m->count == 0)
                return NULL;
        return probe(m, (uint32_t) map_hash(key, key_len), key, key_len)
                ->value; // a free slot's value is NULL
}

int map_add(Map *m, const void *key, size_t key_len, void *value) {
        uint32_t hash = (uint32_t) map_hash(key, key_len);
        MapSlot *s;
        int r;

        assert(value && key && key_len <= UINT32_MAX);
        if (m->count + 1 > m->n_slots / 4 * 3) {
                r = grow(m);
                if (r < 0)
                        return r;
        }
        s = probe(m, hash, key, key_len);
        if (s->key)
                return -EEXIST;
        *s = (MapSlot){.hash = hash, .key = key, .key_len = (uint32_t) key_len, .value = value};
        m->count++;
        return 0;
}

void *map_take(Map *m, const void *key, size_t key_len) {
        size_t mask = m->n_slots - 1, hole, i;
        MapSlot *s;
        void *value;

        if (m->count == 0)
                return NULL;
        s = probe(m, (uint32_t) map_hash(key, key_len), key, key_len);
        if (!s->key)
                return NULL;
        value = s->value;
        hole = (size_t) (s - m->slots);
        for (i = (hole + 1) & mask; m->slots[i].key; i = (i + 1) & mask) {
                size_t home = m->slots[i].hash & mask;

                // May move back only if its home is not cyclically in (hole, i].
                if (((i - home) & mask) >= ((i - hole) & mask)) {
                        m->slots[hole] = m->slots[i];
                        hole = i;
                }
        }
        m->slots[hole] = (MapSlot){};
        if (--m->count == 0 && m->n_slots > MAP_MIN_SLOTS)
                map_done(m);
        return value;
}

// *iter counts slots already visited. The walk goes downwards from the slot below the first free one: a
// removal shifts entries only from higher slots to lower ones (cyclically, and never across a free slot), so
// an entry that was not visited yet never moves into the visited part.
MapSlot *map_next(const Map *m, size_t *iter) {
        size_t start = 0;

        if (m->count == 0)
                return NULL;
        if (*iter == 0) {
                while (m->slots[start].key)
                        start++;
                *iter = start + 1; // biased by one: 0 means "not begun"
        }
        // The low bits of *iter hold where the walk began, the high bits how far it is.
        for (size_t begun = (*iter & UINT32_MAX) - 1, n = *iter >> 32; n < m->n_slots; n++) {
                size_t i = (begun - 1 - n) & (m->n_slots - 1);

                if (m->slots[i].key) {
                        *iter = ((n + 1) << 32) | (begun + 1);
                        return &m->slots[i];
                }
        }
        *iter = (m->n_slots << 32) | (*iter & UINT32_MAX);
        return NULL;
}
