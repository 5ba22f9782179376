// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Keys by which a client repeats a request safely, and the id that a job gets from one (request-key.h).
// request_key_is_valid(): 1 to REQUEST_KEY_MAX characters -> request_key_id(): the beginning of a SHA-256.
// The words "argosy key" in front keep these hashes apart from all others. Nothing fails.

#include "request-key.h"

#include <inttypes.h>
#include <string.h>

#include "hash.h"
#include "str.h"

enum { UTF8_MAX = 4 };

bool request_key_is_valid(const char *key) {
        size_t n = 0;

        if (!*key || !str_is_plain(key))
                return false;
        for (const uint8_t *p = (const uint8_t *) key; *p; p += str_utf8_len(p))
                n++;
        return n <= REQUEST_KEY_MAX;
}

void request_key_id(const char *key, uint64_t nth, uint8_t ret[REQUEST_KEY_ID_SIZE]) {
        char text[sizeof("argosy key  18446744073709551615") + (size_t) REQUEST_KEY_MAX * UTF8_MAX];
        Hash hash;

        str_fit(text, sizeof(text), "argosy key %s %" PRIu64, key, nth);
        hash = hash_of(text, strlen(text));
        memcpy(ret, hash.bytes, REQUEST_KEY_ID_SIZE);
}
