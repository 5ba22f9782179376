// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which unit starts which: a timer, socket, path or automount activates one unit by name, whether that is
// known or not. Kept up to date unit by unit, so that both directions are looked up at once. Pure.

#include "map.h"

typedef struct Mates {
        Map names; // private: Mate by name
} Mates;           // zero-initialised: empty

void mates_done(Mates *m);
// The unit `name` activates this one; NULL: none (any more). 0 or -ENOMEM (then it activates what it did).
int mates_set(Mates *m, const char *name, const char *activates) _warn_unused_;
// Borrowed until the next mates_set(). NULL: none.
const char *mates_activated(const Mates *m, const char *name);
// Calls `each` for everyone that activates it, in the order in which they were set, until it returns true;
// then that one's name, else NULL.
const char *mates_find_activator(const Mates *m, const char *name,
                                 bool (*each)(const char *name, void *userdata), void *userdata);
