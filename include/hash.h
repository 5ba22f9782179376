// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// SHA-256, the name of contents and keys everywhere in argosy.

#include <stdbool.h>

#include "macro.h"

enum { HASH_SIZE = 32, HASH_HEX_SIZE = 2 * HASH_SIZE + 1 };

typedef struct Hash {
        uint8_t bytes[HASH_SIZE];
} Hash;

Hash hash_of(const void *data, size_t len);
// The same of bytes that come in pieces. A zero-initialised Hasher is empty. 0 or -ENOMEM.
typedef struct Hasher {
        void *digest;
} Hasher;
int hasher_init(Hasher *h) _warn_unused_;
void hasher_add(Hasher *h, const void *data, size_t len);
// Ends it; *ret may be NULL. An empty one stays so.
void hasher_done(Hasher *h, Hash *ret);
bool hash_equal(const Hash *a, const Hash *b);
bool hash_is_zero(const Hash *h);
// Lower-case hex of the first `n_bytes` bytes (at most 32); `ret` has room for 2 * n_bytes + 1.
void hash_hex(const Hash *h, size_t n_bytes, char *ret);
// From the bytes of a message field; false if the length is not 32.
static inline bool hash_from_bytes(const void *data, size_t len, Hash *ret) {
        if (len != HASH_SIZE)
                return false;
        memcpy(ret->bytes, data, HASH_SIZE);
        return true;
}

// CRC-32C (Castagnoli), for framing of log entries and files; not for anything that somebody could want to
// forge.
uint32_t crc32c(uint32_t crc, const void *data, size_t len);
