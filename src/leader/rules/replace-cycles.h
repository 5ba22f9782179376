// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units with Replaces=, to find out whether they replace each other in a cycle: then each would drive the
// next one from node to node for ever. Pure.

#include <stdbool.h>
#include <stddef.h>

#include "unit-file.h"

typedef struct ReplaceUnit {
        char *name;
        UnitOptions *options; // a reference
} ReplaceUnit;

typedef struct ReplaceCycles { // zero-initialised: none
        ReplaceUnit *of;
        size_t n, allocated;
} ReplaceCycles;

void replace_cycles_done(ReplaceCycles *l);
// Takes a reference to the options, and forgets what the unit had before. 0 or -ENOMEM.
int replace_cycles_put(ReplaceCycles *l, const char *name, UnitOptions *options);
bool replace_cycles_has(const ReplaceCycles *l, const char *name);
// Whether one of the first `n` names just that, a unit or a pattern, in Replaces=.
bool replace_cycles_names(const ReplaceCycles *l, size_t n, const char *glob);
// Whether the unit, with these options, replaces one that replaces ... the unit. REPLACE_CYCLE_FOUND and
// the names on the way in `ret`, 0, or -ENOMEM.
enum { REPLACE_CYCLE_FOUND = 1 };
int replace_cycles_find(const ReplaceCycles *l, const char *name, const UnitOptions *options, char *ret,
                        size_t size);
