// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long the slices of a walk are after it was resumed (walk-pace.h): 1/16 -> 1/8 -> 1/4 -> 1/2 -> the
// whole. walk_pace_resume() -> walk_pace_slice() per turn -> walk_pace_turned(): doubled after a short turn,
// halved after a long. On a slow machine slices stay short: the walk takes up to sixteen times as many
// turns, but no turn loses the lead.

#include "walk-pace.h"

#include "macro.h"

void walk_pace_resume(WalkPace *p) {
        *p = (WalkPace){.parts = 1};
}

size_t walk_pace_slice(const WalkPace *p, size_t whole) {
        return p->parts > 0 ? MAX_OF(whole * p->parts / WALK_PACE_WHOLE, (size_t) 1) : whole;
}

void walk_pace_turned(WalkPace *p, uint64_t turn_us) {
        if (p->parts == 0)
                return;
        if (turn_us > WALK_PACE_LONG_US)
                p->parts = MAX_OF(p->parts / 2, 1);
        else if (turn_us < WALK_PACE_SHORT_US)
                p->parts = p->parts * 2 < WALK_PACE_WHOLE ? p->parts * 2 : 0;
}
