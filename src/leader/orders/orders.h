// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Records -> orders for agents.

#include "leader-core.h"

void orders_mark(Leader *l, Unit *u, Node *n);
void orders_on_unit(Leader *l, const UnitEntry *e, Unit *u, Node *before);
void orders_flush(Leader *l);
// Puts all that the host is to be told into its list: the next orders_flush() begins to send it.
void orders_welcome(Leader *l, Host *h);
// Where global units run is judged again as far as it may have changed. False: some of it is left for the
// next turn.
bool orders_globals(Leader *l);
// Goes on with marking what thousands of nodes have of units whose records have changed. False: as above.
bool orders_rows_step(Leader *l);
// An order that waited for the unit's end elsewhere may go out now, or not yet; and all of these, if a host
// was heard, lost or removed.
void orders_release(Leader *l, Unit *u);
void orders_mark_awaiting(Leader *l);
void orders_on_session_ended(Host *h); // nothing is sent there any more, before it was welcomed again
void orders_retire(Leader *l);         // a term is over: nothing is due any more
