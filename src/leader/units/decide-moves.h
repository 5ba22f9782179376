// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that have to go elsewhere, and those that wait for a node.

#include "decision.h"

// 0 or -ENOMEM.
int decide_moves(Decision *d);    // those that are moving: another node, if they still have to go
int decide_pending(Decision *d);  // units that are pending, if there may be room for somebody
// Those that wait for their turn although they have a node are asked about anew if what they were asked
// about may have changed (DUE_ENQUEUED).
void decide_pending_anew(Leader *l);
void decide_pending_retire(Leader *l); // a term is over: nobody waits for a turn any more

// Whether the unit, in Leader.moving, still has to go elsewhere; and where it would go now, which counts in
// the Placement and changes nothing else. 0 or -ENOMEM.
bool move_is_due(Decision *d, const Unit *u, const UnitEntry *e);
// Whether it would leave a node that is emptied, or where it is replaced, but too many of its group are
// down.
bool move_is_held(const Decision *d, const Unit *u, const UnitEntry *e);
typedef struct MoveChoice {
        enum {
                MOVE_NOT,   // its options cannot be read
                MOVE_LATER, // not before `at_us`
                MOVE_WAITS, // it stays where it is, or nowhere, until there is something for it
                MOVE_GOES,  // to `node`; 0: it leaves its node without having another one
        } verdict;
        uint64_t at_us;
        uint32_t node;
} MoveChoice;
int move_choose(Decision *d, Unit *u, UnitEntry *e, MoveChoice *ret);
