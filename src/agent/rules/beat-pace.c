// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a beat is quiet: nobody waits for its answer, and the next one comes early enough to ask.
#include "beat-pace.h"

bool beat_is_quiet(const BeatPace *p, uint64_t now_us) {
        return !p->needed && p->n_quiet < BEAT_QUIET_MAX && now_us + p->beat_us + p->lease_us / 3 <= p->lease_until_us;
}
