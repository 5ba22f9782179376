// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The units of a cluster's state in the order of their names, so that a walk can go on behind a name without
// looking at those before: O(log n) for each of these functions, whatever has changed since. Private to
// src/model.

#include <stddef.h>

#include "cluster-state.h"

typedef struct UnitBlock UnitBlock;

// Zeroed is empty.
typedef struct UnitOrder {
        UnitBlock **blocks; // none is empty
        size_t n_blocks, allocated;
} UnitOrder;

typedef struct UnitPlace { // in it: may be of before something came or went
        size_t block, at;
} UnitPlace;

void unit_order_done(UnitOrder *o);
// One of that name is not in it. 0 or -ENOMEM, and then nothing was changed.
int unit_order_add(UnitOrder *o, UnitEntry *unit) _warn_unused_;
void unit_order_remove(UnitOrder *o, const UnitEntry *unit); // it is in it
UnitEntry *unit_order_next(const UnitOrder *o,
                           const char *name); // the first behind that name; NULL: there is none
// The one behind a unit that is in it; NULL: that is the last. *place is where that was seen last, {} if
// nowhere, and then where the one behind it is: a walk looks for a name only where something came or went.
UnitEntry *unit_order_behind(const UnitOrder *o, const UnitEntry *unit, UnitPlace *place);
// Calls `each` for those whose names begin so, in their order, until it returns anything but 0: that, or 0.
int unit_order_each(const UnitOrder *o, const char *prefix, UnitEntryEach each, void *userdata);
