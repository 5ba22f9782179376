// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Why a unit that is to run is down, from what systemd has told of its end. Nobody is blamed for what
// systemd did: that somebody stopped it is said only of what a job that is not ours, or a signal from
// elsewhere, has ended. Such a job may be systemd's own, for another unit. Pure.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "systemd-manager.h"

typedef struct DownFacts {
        Argosy__DownCause found; // before, since it is down
        bool goes_along;         // we stop, or have stopped, what systemd stops it with
        bool conflicts;          // one that conflicts with it was started, or is
        bool interrupted;        // the job of its start was cancelled
        bool skipped, was_reset, signalled;
        UnitEnd end;
        bool stops_unneeded;     // StopWhenUnneeded=
} DownFacts;

Argosy__DownCause down_cause(const DownFacts *f);
