// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How many contents that this agent knows name a file that comes with units: as long as one does, the file
// stays in the store, since a unit may be about to get it.

#include "agent-core.h"
#include "carried-files.h"

// 0 or -ENOMEM.
int carried_name_add(Agent *a, const CarriedFile *f) _warn_unused_;
// The last one removes the file from the store, unless a unit's folder has it.
void carried_name_drop(Agent *a, const CarriedFile *f);
bool carried_is_named(const Agent *a, const Hash *hash, bool executable);
