// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is under way about a unit on a node (UnitOnNodeWork in tables.h), which most have not. It is made
// when somebody is about to put something into it; who has taken something out says so, and then it goes if
// nothing is left.

#include "tables.h"

extern const UnitOnNodeWork unit_on_node_work_none; // nothing is under way

// To be looked at: never NULL.
static inline const UnitOnNodeWork *unit_on_node_work_seen(const UnitOnNode *s) {
        return s->work ?: &unit_on_node_work_none;
}

// To be put into.
UnitOnNodeWork *unit_on_node_work(UnitOnNode *s);
// One of its lists is left: `member` was in it.
void unit_on_node_work_unlink(UnitOnNodeWork *w, ListNode *member);
// Its order does not wait any more, in Leader.awaiting, .replacing or .replacing_due.
void unit_on_node_work_stop_awaiting(UnitOnNode *s);
void unit_on_node_work_forget_outcome(UnitOnNode *s);
// Out of all lists, and freed.
void unit_on_node_work_free(UnitOnNode *s);
// Only its memory, on any thread. NULL is fine.
void unit_on_node_work_discard(UnitOnNodeWork *w);
