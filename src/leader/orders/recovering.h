// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units of a group that has no room will be up again, or somewhere else, without anybody's help.

#include "leader-core.h"
#include "tables.h"

// Whether there may be any. Until all of them were looked at, there may; after that units that replace
// others are looked at again.
bool recovering_any(Leader *l, DisruptionBudget *g);
bool recovering_is(const Leader *l, const Unit *u); // this one, as it is now
// Something was seen of the unit, or of its node. Only as long as units of its group wait for room, anything
// of that is kept.
void recovering_on_touched(Leader *l, Unit *u);
void recovering_step(Leader *l); // once per turn: groups that are asked about for the first time
void recovering_retire(Leader *l); // a term is over: nobody asks any more
