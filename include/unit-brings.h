// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units are to be loaded where a unit is loaded: what a timer, socket, path or automount activates,
// the socket that a service requires, and what [Install] Also= names. Pure.

#include "unit-file.h"

// Ends the round with anything but 0.
typedef int (*UnitBringsEach)(const char *name, void *userdata);
// Calls `each` for the units that the unit `name` with that file brings; what it activates comes first. 0,
// what `each` returned, or -ENOMEM. An [Install] section that is not valid names nothing.
int unit_brings_each(const UnitFile *file, const char *name, UnitBringsEach each, void *userdata);
