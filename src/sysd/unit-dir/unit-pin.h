// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The pin of a unit: a target of ours that names the unit and stays active, so that systemd keeps the unit
// in its memory although it has ended, and how. Pure.
//
//      argosy-pin@backup.service.target      pins backup.service
//
// systemd forgets a unit that is inactive and that nobody active names. Of a one-shot that means: after its
// end nobody can tell any more whether it ran. What an active unit names stays, with its invocation id, also
// across a reload and a re-execution; who is named by others is not held by that, so the target has to name
// the unit (man 5 systemd.unit, CollectMode=, and src/core/unit.c of systemd, unit_gc_sweep()).

#include <stdbool.h>

#include "unit-name.h"

#define UNIT_PIN_FILE "argosy-pin@.target"
// Ordered before the unit, so the target is active when that begins; it pulls in nothing, and goes with
// everything else at shutdown.
#define UNIT_PIN_TEXT                                                                                  \
        "# Written by argosy. Keeps a one-shot in systemd's memory until its outcome is known.\n"      \
        "[Unit]\nDescription=Outcome of %i\nDefaultDependencies=no\nBefore=%i\nConflicts=shutdown.target\n" \
        "Before=shutdown.target\n"

// -ENAMETOOLONG: no name is left for it.
int unit_pin_name(const char *unit, char ret[static UNIT_NAME_MAX + 1]);
// The unit that a pin pins, in `ret`; false: the name is no pin's.
bool unit_pin_parse(const char *name, char ret[static UNIT_NAME_MAX + 1]);
// Whether a unit file with this content may need one; also true for some that do not.
bool unit_pin_is_due(const void *content, size_t len);
