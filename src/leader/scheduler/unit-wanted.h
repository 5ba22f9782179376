// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether the log wants a unit on a node.

#include "leader-core.h"

// Whether the log wants this unit on this node now.
bool unit_wanted_on(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);
// The same, whoever it gives way to: while the unit's next content is decided on, the Placement knows the
// conflicts of that one.
bool unit_may_be_wanted_on(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);
// Whether the log wants it there if the node does not refuse its name any more.
bool unit_wanted_if_taken(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n);

// Whether a unit that runs on all nodes leaves out this one although its options admit it, and why.
typedef enum LeftOut {
        LEFT_OUT_NOT,
        LEFT_OUT_REFUSED,  // the node refuses the name
        LEFT_OUT_GAVE_WAY, // to one that it conflicts with
} LeftOut;

LeftOut unit_left_out(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n, char *ret_why,
                      size_t size);
