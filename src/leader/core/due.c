// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Marks that a pass of the next turn has work to do (due.h), one bit each. leader_set_due() by the cause of
// the work -> leader_take_due() by the pass, once per turn. A mark stays until it is taken, also beyond a
// term, unless the next term begins by taking it. Nothing fails.

#include "due.h"

void leader_set_due(Leader *l, unsigned due) {
        l->due |= due;
}

bool leader_is_due(const Leader *l, LeaderDue due) {
        return l->due & due;
}

bool leader_take_due(Leader *l, LeaderDue due) {
        bool was = l->due & due;

        l->due &= ~(unsigned) due;
        return was;
}
