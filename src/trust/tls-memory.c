// SPDX-License-Identifier: LGPL-2.1-or-later
//
// GnuTLS frees its memory by functions that it lets others put in place. It has records of up to 16 KiB there, and little else that is not freed
// after a handshake, so overwriting costs less than encrypting.

#include "tls-memory.h"

#include <gnutls/gnutls.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"

static void wipe_and_free(void *p) {
        if (p)
                explicit_bzero(p, malloc_usable_size(p));
        free(p);
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
        gnutls_free = wipe_and_free;
        gnutls_realloc = wipe_and_realloc;
}
