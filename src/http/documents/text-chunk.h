// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Text that never changes and that many have: documents share the parts that are the same. It crosses
// threads, so its users are counted atomically; the last unref frees it.

#include <stdatomic.h>
#include <stddef.h>

typedef struct TextChunk {
        _Atomic unsigned refs;
        _Atomic size_t *held; // bytes of all that there are, or NULL
        size_t len;
        char text[];
} TextChunk;

// A piece of a document: of a chunk, to which it has a reference.
typedef struct TextPiece {
        TextChunk *chunk;
        size_t offset, len;
} TextPiece;

// With room for so many bytes, not filled in, which are counted in *held as long as it lives; NULL: out of
// memory.
TextChunk *text_chunk_new(size_t len, _Atomic size_t *held);
TextChunk *text_chunk_ref(TextChunk *c);
TextChunk *text_chunk_unref(TextChunk *c); // NULL, and takes NULL
void text_pieces_free(TextPiece *pieces, size_t n);
