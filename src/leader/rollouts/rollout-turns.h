// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where a unit of a rollout goes with the content that it gets.

#include "leader-core.h"
#include "scheduler.h"

// Where the unit goes with another content: where it is, if that node may have it. 0, ROLLOUT_NO_NODE (and
// the record has none), or a negative errno.
int rollout_place(Leader *l, const Unit *u, SpecEntry *spec, Scheduler **scheduler,
                  Argosy__UnitRecord *next);
