// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is seen of a unit by those who wait for it. It is the same for all of them in one turn.
//
// A unit on thousands of nodes is looked at in turns (a walk), a node as it is in its turn; texts of nodes
// are copied then. What is touched meanwhile is looked at by another walk behind it. A record that changes
// begins it anew.

#include "arena.h"
#include "leader-core.h"
#include "wait-condition.h"

typedef struct WaitSeen {
        const Leader *l;
        const Unit *unit;
        const UnitEntry *entry;
        WaitNode *nodes; // `few`, or allocated
        size_t n, allocated;
        // the last of them are of hosts that this leader has never heard; counted only where asked for
        size_t n_unheard;
        size_t n_refused, n_gave_way; // as in WaitView
        uint64_t due_at_us;           // when the first guard will have ended it on a lost node; 0: never
        uint32_t due_host;            // number of one where it has not lived long enough; 0: there is none
        uint64_t due_lived_ms;
        bool stranded;
        bool failed;     // out of memory
        bool keeps;      // texts, in `texts`
        Arena texts;
        WaitNode few[2]; // most units are on one node
} WaitSeen;

void wait_seen_init(WaitSeen *v, const Leader *l, const Unit *u);
void wait_seen_add_unheard(WaitSeen *v);
void wait_seen_done(WaitSeen *v);

// Whether it is looked at in turns; and whether there may be such units.
bool wait_seen_is_wide(const Leader *l, const Unit *u);
bool wait_seen_may_be_wide(const Leader *l);
void wait_walk_begin(Leader *l, Unit *u); // or once more, when the one that is under way is over
// Goes on with walks, *left looks. The unit whose walk has come to its end, and what was seen; NULL: none
// has.
Unit *wait_walk_next(Leader *l, size_t *left, const WaitSeen **ret);
void wait_walk_over(Leader *l, Unit *u); // all who wait have been told of it, or nobody waits
// For who is told of it in turns: how many are still to be.
size_t *wait_walk_untold(Leader *l, const Unit *u);
void wait_walks_retire(Leader *l);

// A walk for somebody who does not wait. It goes before its unit does.
typedef struct WaitWalk WaitWalk;
WaitWalk *wait_walk_alone(const Leader *l, Unit *u);
// Goes on, *left looks. What was seen, as long as the walk is not freed; NULL: not all was looked at. Not to
// be called again then.
const WaitSeen *wait_walk_look(Leader *l, WaitWalk *w, size_t *left);
bool wait_walk_is_of(const WaitWalk *w, const Unit *u);
WaitWalk *wait_walk_free(WaitWalk *w); // NULL is fine; returns NULL
