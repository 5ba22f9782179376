// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The decisions of the mesh, apart from streams and timers.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"

// What one voter says of itself: over its link, or ourselves.
typedef struct LeaderClaim {
        uint32_t host;
        bool leading;
        uint64_t term;
} LeaderClaim;

// The claim to believe, or NULL: the one with the newest term, and none older than *newest_term, the newest
// in which anybody was ever seen leading. A voter that is cut off from the others may go on claiming an old
// one.
const LeaderClaim *decide_leader(const LeaderClaim *claims, size_t n, uint64_t *newest_term);

// How long to wait before the next dial, after so many failures in a row: between half and all of a delay
// that doubles from min to max. `random` spreads it over its whole range.
unsigned decide_redial_ms(unsigned failures, unsigned min_ms, unsigned max_ms, uint32_t random);

// Whether a session may go on. The host number is that of the pinned key it came with. NULL: welcome; else
// why not, a sentence for people. An older generation than ours is welcome: its host learns the new one from
// the leader. A newer one means that the cluster was recovered without us.
const char *decide_hello(const Argosy__ToVoter__Hello *hello, uint32_t host, const uint8_t cluster_id[16],
                         uint64_t generation);
