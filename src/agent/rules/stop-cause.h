// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether another unit is why systemd has stopped one, by the tie between the two and the other's state
// right after. Pure; agent-stop-cause.c asks systemd.

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"

typedef enum StopTie { // in the order in which they are looked at
        STOP_TIE_NONE,
        STOP_TIE_CONFLICT, // the two cannot be up together
        STOP_TIE_BINDING,  // it is up only while the other is
        STOP_TIE_STOP,     // a stop of the other stops it, its end does not
        STOP_TIES,
} StopTie;

typedef struct StopOther {
        StopTie tie;
        Argosy__ActiveState active;
        bool has_job;
        uint64_t down_at_us; // CLOCK_MONOTONIC, 0: never, or systemd has forgotten it since
        bool had_job; // that is done, at most as long ago as the unit began to end
} StopOther;

// What a unit is to one that has that property with its name. NONE: such a tie stops nothing.
StopTie stop_tie(const char *property, const char *other);
// DOWN_CONFLICT, DOWN_BOUND, or DOWN_NOT: it explains nothing. `from_us`: when the end of the unit began, on
// the same clock.
Argosy__DownCause stop_cause(const StopOther *other, uint64_t from_us);
