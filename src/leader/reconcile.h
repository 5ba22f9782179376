// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What follows from a change, and in which order.

#include "leader-core.h"

// Everything from the state, when this leader begins to lead: some of it with each call, and what the log
// applies meanwhile besides. True: the tables are whole.
void reconcile_build_begin(Leader *l);
bool reconcile_build_some(Leader *l);
// the log has applied an entry, and this leader leads, or makes its tables
void reconcile_on_applied(Leader *l);
// Pulls what marks say of units, nodes and sessions. False: of units there are more, for the next turn.
bool reconcile_pull(Leader *l);
// One turn of the loop. False: what lasts could not be said for want of authority; the marks of that stay.
bool reconcile_turn(Leader *l);
