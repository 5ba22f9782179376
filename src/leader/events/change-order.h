// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Objects in the order in which they changed last. Each stands there once, under the sequence of that
// change; a reader that has seen all up to a sequence goes on behind it. Pure.
//
// Adding, taking out and going on cost the same for ten objects as for a million: what was taken out leaves
// a hole, and chunks that are mostly holes are put together.

#include <stddef.h>
#include <stdint.h>

#include "macro.h"

typedef struct ChangeOrderChunk ChangeOrderChunk;

typedef struct ChangeOrder { // zero-initialised: empty
        ChangeOrderChunk **chunks;
        size_t n_chunks, allocated;
        size_t n_objects;
} ChangeOrder;

void change_order_done(ChangeOrder *o);
// `seq` is greater than any that was added before. 0 or -ENOMEM.
int change_order_add(ChangeOrder *o, uint64_t seq, void *object) _warn_unused_;
// The object that was added under that sequence, and was not removed.
void change_order_remove(ChangeOrder *o, uint64_t seq);
// Another one takes its place.
void change_order_replace(ChangeOrder *o, uint64_t seq, void *object);
// The first behind that sequence, and its own. NULL: there is none.
void *change_order_next(const ChangeOrder *o, uint64_t seq, uint64_t *ret_seq);
// For tests: slots that it has room for, and chunks keep.
size_t change_order_n_slots(const ChangeOrder *o);
