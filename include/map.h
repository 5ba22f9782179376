// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Hash map from byte strings to pointers, seeded per process so that peers cannot choose collisions.
//
// The map owns neither keys nor values: a key usually lives inside its value and must stay unchanged while
// it is in the map. Iteration order is arbitrary; entries may be taken while iterating with map_foreach(),
// none may be added; a slot is not to be looked at after something was taken.
//
// A map of many grows in no long turn: it has two tables then, and what is in the old one moves to the new
// one as more is added, so many slots each time. What is found is found in either.

#include <stdbool.h>
#include <stddef.h>

#include "macro.h"

typedef struct MapSlot {
        const void *key; // NULL: free slot
        void *value;
        uint32_t key_len, hash; // hash: its lower half
} MapSlot;

typedef struct Map {
        MapSlot *slots;
        size_t n_slots; // power of two or 0
        size_t count;   // in both tables
        MapSlot *old;   // while it grows: half as many slots; NULL: everything is in `slots`
        size_t old_left; // of these the first so many may be used, all behind them have moved
} Map;

static inline size_t map_n_old(const Map *m) {
        return m->old ? m->n_slots / 2 : 0;
}

// Memory of its tables.
static inline size_t map_bytes(const Map *m) {
        return (m->n_slots + map_n_old(m)) * sizeof(MapSlot);
}

// A zero-initialised Map is empty and valid.
void map_done(Map *m);
// Same, and calls free_value(value) for each entry.
void map_done_with(Map *m, void (*free_value)(void *value));

void *map_find(const Map *m, const void *key, size_t key_len);
// 0, -EEXIST (nothing changed) or -ENOMEM (nothing changed). `value` must not be NULL.
int map_add(Map *m, const void *key, size_t key_len, void *value) _warn_unused_;
// Removes and returns the value, or NULL.
void *map_take(Map *m, const void *key, size_t key_len);

// Strings and fixed-size integers as keys.
static inline void *map_find_str(const Map *m, const char *key) {
        return m->count > 0 ? map_find(m, key, strlen(key)) : NULL;
}
static inline int map_add_str(Map *m, const char *key, void *value) {
        return map_add(m, key, strlen(key), value);
}
static inline void *map_take_str(Map *m, const char *key) {
        return m->count > 0 ? map_take(m, key, strlen(key)) : NULL;
}

// A new value as of NEW_WITH_TEXT() (str.h), which is in the map under its text. NULL, and nothing changed:
// out of memory, or another one is.
void *map_new_str(Map *m, size_t size, size_t at, const char *key) _warn_unused_;
#define MAP_NEW_STR(map, type, field, key) \
        ((type *) map_new_str((map), sizeof(type), offsetof(type, field), (key)))

// Next used slot at or behind *iter (start with 0), or NULL at the end.
MapSlot *map_next(const Map *m, size_t *iter);
#define map_foreach(slot, map)                                          \
        for (size_t slot##_i = 0, slot##_b = 1; slot##_b; slot##_b = 0) \
                for (MapSlot * slot; (slot = map_next(map, &slot##_i));)

// SipHash-1-3 with this process's random key (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012,
// with fewer rounds, as is usual for tables: nobody sees a hash).
uint64_t map_hash(const void *data, size_t len);
// For tests that want the same order every time. Must be called before the first map is used.
void map_set_seed(const uint8_t seed[16]);
