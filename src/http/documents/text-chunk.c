// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A text that several connections send, counted by references across threads (text-chunk.h).
//
//      text_chunk_new() -> text_chunk_ref() per connection -> text_chunk_unref(): the last one frees it
//
// `held` is the caller's sum of bytes that are alive. A reference is taken by a holder of one, so it needs
// no memory order; giving it back releases what was read. Failure: NULL without memory.

#include "text-chunk.h"

#include <stdlib.h>

TextChunk *text_chunk_new(size_t len, _Atomic size_t *held) {
        TextChunk *c = malloc(sizeof(*c) + len);

        if (!c)
                return NULL;
        atomic_init(&c->refs, 1);
        c->len = len;
        c->held = held;
        if (held)
                atomic_fetch_add_explicit(held, len, memory_order_relaxed);
        return c;
}

TextChunk *text_chunk_ref(TextChunk *c) {
        atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
        return c;
}

TextChunk *text_chunk_unref(TextChunk *c) {
        if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
                return NULL;
        if (c->held)
                atomic_fetch_sub_explicit(c->held, c->len, memory_order_relaxed);
        free(c);
        return NULL;
}

void text_pieces_free(TextPiece *pieces, size_t n) {
        for (size_t i = 0; i < n; i++)
                text_chunk_unref(pieces[i].chunk);
        free(pieces);
}
