// SPDX-License-Identifier: LGPL-2.1-or-later
//
// SHA-256 by gnutls, which every daemon links for TLS, and CRC-32C for what only guards against torn writes.
// hash_of() hashes bytes at once; hasher_init() -> hasher_add() ... -> hasher_done() in pieces, which frees
// the state. Failures: hasher_init() returns -ENOMEM; a gnutls without SHA-256 ends the process, as nothing
// could work.

#include <endian.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>

#include "hash.h"
#include "process-end.h"
#include "str.h"

static _Noreturn void end_without_hash(void) {
        process_abort("the TLS library has no SHA-256"); // nothing could work
}

Hash hash_of(const void *data, size_t len) {
        Hash h;
        int r;

        r = gnutls_hash_fast(GNUTLS_DIG_SHA256, data, len, h.bytes);
        if (r < 0)
                end_without_hash();
        return h;
}

int hasher_init(Hasher *h) {
        gnutls_hash_hd_t digest;
        int r = gnutls_hash_init(&digest, GNUTLS_DIG_SHA256);

        if (r == GNUTLS_E_MEMORY_ERROR)
                return -ENOMEM;
        if (r < 0)
                end_without_hash();
        h->digest = digest;
        return 0;
}

void hasher_add(Hasher *h, const void *data, size_t len) {
        if (gnutls_hash(h->digest, data, len) < 0)
                end_without_hash();
}

void hasher_done(Hasher *h, Hash *ret) {
        if (!h->digest)
                return;
        gnutls_hash_deinit(h->digest, ret ? ret->bytes : NULL);
        h->digest = NULL;
}

bool hash_equal(const Hash *a, const Hash *b) {
        return memcmp(a->bytes, b->bytes, HASH_SIZE) == 0;
}

bool hash_is_zero(const Hash *h) {
        static const Hash zero;

        return hash_equal(h, &zero);
}

void hash_hex(const Hash *h, size_t n_bytes, char *ret) {
        hex_encode(h->bytes, n_bytes, ret);
}

// ------------------------------------------------------------------------------------------------ CRC-32C

// tables[n][byte]: what the byte makes of the sum when n more bytes come behind it. So eight bytes are eight
// look-ups that do not wait for each other ("slicing by eight").
static uint32_t tables[8][256];

static void make_tables(void) {
        for (uint32_t i = 0; i < 256; i++) {
                uint32_t c = i;

                for (int k = 0; k < 8; k++)
                        c = c & 1 ? (c >> 1) ^ UINT32_C(0x82f63b78) : c >> 1;
                tables[0][i] = c;
        }
        for (uint32_t i = 0; i < 256; i++)
                for (int n = 1; n < 8; n++)
                        tables[n][i] = tables[n - 1][i] >> 8 ^ tables[0][tables[n - 1][i] & 0xff];
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len) {
        static pthread_once_t made = PTHREAD_ONCE_INIT; // the pool sums, too
        const uint8_t *p = data;

        (void) pthread_once(&made, make_tables);
        crc = ~crc;
        for (; len >= 8; len -= 8, p += 8) {
                uint64_t w;

                memcpy(&w, p, sizeof(w));
                w = le64toh(w) ^ crc;
                crc = tables[7][w & 0xff] ^ tables[6][w >> 8 & 0xff] ^ tables[5][w >> 16 & 0xff] ^
                      tables[4][w >> 24 & 0xff] ^ tables[3][w >> 32 & 0xff] ^ tables[2][w >> 40 & 0xff] ^
                      tables[1][w >> 48 & 0xff] ^ tables[0][w >> 56];
        }
        while (len-- > 0)
                crc = tables[0][(crc ^ *p++) & 0xff] ^ (crc >> 8);
        return ~crc;
}
