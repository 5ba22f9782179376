// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units of lost nodes that do not move at once.

#include "failing-options.h"
#include "leader-core.h"

// Boot time from which a unit may leave its lost node; 0: its node is not lost, UINT64_MAX: not by itself.
uint64_t node_loss_moves_at(const Leader *l, const Unit *u, const UnitEntry *e);
// It is not moved now, and is looked at again when a host attaches or is lost: a drain does not move units
// with NodeLost=never, unless its deadline is over; and a unit that is to be stopped when cut off is not
// moved away from a host of which this leader does not know yet whether it is cut off.
bool node_loss_stays(const Leader *l, const Unit *u, const UnitEntry *e);
// It is looked at again then. 0 or -ENOMEM.
int node_loss_delay(Leader *l, Unit *u, uint64_t at_us);
void node_loss_on_time(Leader *l);
// Nobody can ask its node, and it is not placed elsewhere for that: it waits for the node, or no other node
// takes it.
bool node_loss_strands(const Leader *l, const Unit *u, const UnitEntry *e);
// Why it has not left its lost node yet; false: no such reason.
bool node_loss_why(const Leader *l, const Unit *u, const UnitEntry *e, char *ret, size_t size);
