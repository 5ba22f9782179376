// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The newest authority that this host has obeyed: cluster generation, then leader's term, then log index.
// What is older is refused, so that a leader which was paused or cut off while another took over can order
// nothing. Kept in STATE_DIR/fence, synced before anything newer is acted on.

#include <stdbool.h>

#include "macro.h"

typedef struct Fence {
        uint64_t generation, term, index;
} Fence;

// <0, 0, >0 as a is older than, the same as, newer than b.
int fence_compare(const Fence *a, const Fence *b);

// These block on the disk.
// 0, also for a missing file (then all zero); -EBADMSG: damaged.
int fence_load(const char *state_dir, Fence *ret);
int fence_save(const char *state_dir, const Fence *f);
