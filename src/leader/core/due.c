// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See due.h. A mark that nobody has taken stays, also beyond a term, unless who takes it begins anew with leader_take_due().
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
