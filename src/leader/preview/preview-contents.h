// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The contents that a plan's units would have, and what is different with them.

#include "leader-core.h"
#include "map.h"
#include "preview-units.h"

typedef struct PreviewContents {
        Map brought; // by their hashes: ProtobufCBinaryData of what the change brings
} PreviewContents;   // zero-initialised: not known yet

void preview_contents_done(PreviewContents *c);
// What these LogBatches, which live as long, bring; once. 0 or -ENOMEM.
int preview_contents_take(PreviewContents *c, void *const *batches, size_t n);
// What the unit would have. False: nobody knows it.
bool preview_contents_find(const PreviewContents *c, const ClusterState *state, const PreviewUnit *u,
                           ProtobufCBinaryData *ret);
// Says in each unit what becomes of it with a content that is another one than it has. 0 or -ENOMEM.
int preview_contents_compare(const PreviewContents *c, const Leader *l, PreviewUnit *const *units, size_t n);
