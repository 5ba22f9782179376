// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a beat may be quiet, so that the leader need not answer it (beat-pace.h).
// Quiet: nobody waits for its answer, and after the next beat a third of the lease is left in which to ask.
// At most BEAT_QUIET_MAX quiet beats follow each other. A pure function, in microseconds; it cannot fail.

#include "beat-pace.h"

bool beat_is_quiet(const BeatPace *p, uint64_t now_us) {
        return !p->needed && p->n_quiet < BEAT_QUIET_MAX &&
               now_us + p->beat_us + p->lease_us / 3 <= p->lease_until_us;
}
