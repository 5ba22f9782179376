// SPDX-License-Identifier: LGPL-2.1-or-later
//
// GnuTLS asks for its memory by functions that it lets others put in place. For each record it takes, and
// gives back, a block as large as a record may be (16 KiB), of which most records use a hundredth: to
// overwrite each of them takes a microsecond, and a leader has several records for each unit that starts. So
// a thread that says when it has time keeps the last ones as they are, has the next records in them, and
// overwrites them then. All else is overwritten as it is given back: little, and rarely outside handshakes.

#include "tls-memory.h"

#include <gnutls/gnutls.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"

enum {
        KEPT_BLOCKS = 2, // of the record that came and of the one that is decrypted
        KEPT_MIN = 8 << 10,
        KEPT_MAX = 20 << 10,
};

static _Thread_local struct {
        bool keeps;
        void *blocks[KEPT_BLOCKS];
} kept;

static void wipe_and_free(void *p) {
        if (p)
                explicit_bzero(p, malloc_usable_size(p));
        free(p);
}

static bool is_for_a_record(size_t size) {
        return kept.keeps && size >= KEPT_MIN && size <= KEPT_MAX;
}

static void *take(size_t size) {
        for (size_t i = 0; is_for_a_record(size) && i < KEPT_BLOCKS; i++) {
                void *p = kept.blocks[i];

                if (!p || malloc_usable_size(p) < size)
                        continue;
                kept.blocks[i] = NULL;
                return p;
        }
        return malloc(size);
}

static void give_back(void *p) {
        size_t size = p ? malloc_usable_size(p) : 0;

        for (size_t i = 0; is_for_a_record(size) && i < KEPT_BLOCKS; i++)
                if (!kept.blocks[i]) {
                        kept.blocks[i] = p;
                        return;
                }
        wipe_and_free(p);
}

// Never grows in place: a part of the old bytes would stay somewhere else if it could not.
static void *wipe_and_realloc(void *p, size_t size) {
        void *next = malloc(size);

        if (!next)
                return NULL;
        if (p)
                memcpy(next, p, MIN_OF(malloc_usable_size(p), size));
        wipe_and_free(p);
        return next;
}

void tls_memory_wipe(void) {
        gnutls_malloc = take;
        gnutls_free = give_back;
        gnutls_realloc = wipe_and_realloc;
}

void tls_memory_keep_records(void) {
        kept.keeps = true;
}

bool tls_memory_has_records(void) {
        for (size_t i = 0; i < KEPT_BLOCKS; i++)
                if (kept.blocks[i])
                        return true;
        return false;
}

void tls_memory_wipe_records(void) {
        for (size_t i = 0; i < KEPT_BLOCKS; i++) {
                wipe_and_free(kept.blocks[i]);
                kept.blocks[i] = NULL;
        }
}
