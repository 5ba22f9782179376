// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Counts by how many contents each carried file is named (carried-names.h).
//
//      a content comes -> carried_name_add() per file; it goes -> carried_name_drop()
//          -> the last one removes the file
//
// The key is the hash and whether the file is executable. Failure: -ENOMEM, and the file is not counted.

#include "carried-names.h"

#include <errno.h>

#include "carried-store.h"

enum { KEY_SIZE = HASH_SIZE + 1 };

typedef struct CarriedName {
        size_t n;
        uint8_t key[KEY_SIZE];
} CarriedName;

static void make_key(const Hash *hash, bool executable, uint8_t ret[KEY_SIZE]) {
        memcpy(ret, hash->bytes, HASH_SIZE);
        ret[HASH_SIZE] = executable;
}

int carried_name_add(Agent *a, const CarriedFile *f) {
        uint8_t key[KEY_SIZE];
        CarriedName *name;

        make_key(&f->hash, f->executable, key);
        name = map_find(&a->carried_names, key, KEY_SIZE);
        if (!name) {
                name = calloc(1, sizeof(*name));
                if (!name)
                        return -ENOMEM;
                memcpy(name->key, key, KEY_SIZE);
                if (map_add(&a->carried_names, name->key, KEY_SIZE, name) < 0) {
                        free(name);
                        return -ENOMEM;
                }
        }
        name->n++;
        return 0;
}

void carried_name_drop(Agent *a, const CarriedFile *f) {
        uint8_t key[KEY_SIZE];
        CarriedName *name;

        make_key(&f->hash, f->executable, key);
        name = map_find(&a->carried_names, key, KEY_SIZE);
        if (--name->n > 0)
                return;
        map_take(&a->carried_names, key, KEY_SIZE);
        free(name);
        carried_store_drop(a->runtime_dir, &f->hash, f->executable);
}

bool carried_is_named(const Agent *a, const Hash *hash, bool executable) {
        uint8_t key[KEY_SIZE];

        make_key(hash, executable, key);
        return map_find(&a->carried_names, key, KEY_SIZE);
}
