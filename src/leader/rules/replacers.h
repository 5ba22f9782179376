// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units with Replaces=, to find out whether they replace each other in a circle: then each would drive the
// next one from node to node for ever. Pure.

#include <stdbool.h>
#include <stddef.h>

#include "unit-file.h"

typedef struct Replacer {
        char *name;
        UnitOptions *options; // a reference
} Replacer;

typedef struct Replacers { // zero-initialised: none
        Replacer *of;
        size_t n, allocated;
} Replacers;

void replacers_done(Replacers *l);
// Takes a reference to the options, and forgets what the unit had before. 0 or -ENOMEM.
int replacers_put(Replacers *l, const char *name, UnitOptions *options);
// Whether the unit, with these options, replaces one that replaces ... the unit. 1 and the names on the way
// in `ret`, 0, or -ENOMEM.
int replacers_circle(const Replacers *l, const char *name, const UnitOptions *options, char *ret,
                     size_t size);
