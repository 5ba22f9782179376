// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How much of a walk a turn does. What took so long that a leader was lost for it is what the next one finds
// and goes on with. So a walk that a new leader resumes begins with a sixteenth of its slice; that doubles
// with each turn that it used up and that was short by CPU time, and is halved by one that was long. Nothing
// of that is recorded. A walk that nobody resumed has its whole slice. Pure.

#include <stddef.h>
#include <stdint.h>

enum {
        WALK_PACE_WHOLE = 16,       // parts that a slice is cut into
        WALK_PACE_SHORT_US = 5000,  // a turn of less may do twice as much: it stays below what no turn is to
                                    // exceed
        WALK_PACE_LONG_US = 10000,  // one of more is to do less
};

typedef struct WalkPace { // zero-initialised: it was not resumed, or goes as fast as one that was not
        uint8_t parts;    // of the slice that a turn does; 0: all of them
} WalkPace;

void walk_pace_resume(WalkPace *p);
size_t walk_pace_slice(const WalkPace *p, size_t whole); // at least 1
// A turn that did all of that has taken so long.
void walk_pace_turned(WalkPace *p, uint64_t turn_us);
