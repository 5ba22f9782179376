// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that replace others on their node, while those may not leave yet.

#include "leader-core.h"
#include "tables.h"

// The unit replaces others, by what it demands as its record was followed last.
bool replacer_is(const Leader *l, const Unit *u);
// A unit that is still on the node of this one, is replaced by it, and leaves as MaxUnavailable= of its
// group allows; one that is held back before one that leaves now. NULL: none, or this one has no node.
const Unit *replacer_waits_for(const Leader *l, const Unit *u);
// The unit on the node that replaces it there. NULL: none.
const Unit *replacer_on(const Leader *l, const Unit *u, const Node *n);
// The unit that replaces this one where it is; NULL: none.
const Unit *replacer_of(const Leader *l, const Unit *u);
// A record was followed: of a unit that was on `before` (NULL: on no node), where it replaced others or not.
// Units that wait for it to leave are looked at again, and units that were to leave for it.
void replacers_on_unit(Leader *l, const Node *before, bool replaced);
// Something was seen of a unit: those who wait for others of its group may have to wait longer, or not any
// more.
void replacers_on_touched(Leader *l, const Unit *u);
void replacers_await(Leader *l, UnitOnNode *s); // its start waits for those that it replaces on its node
void replacers_reconsider(Leader *l);           // all that wait so are to be looked at
// The next of these, which waits on; NULL: there are no more.
UnitOnNode *replacers_next(Leader *l);
void replacers_retire(Leader *l); // a term is over: nobody waits any more
