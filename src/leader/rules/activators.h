// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which unit starts which: a timer, socket, path or automount activates one unit by name, whether that is
// known or not. Kept up to date unit by unit, so that both directions are looked up at once. Pure.

#include "map.h"

typedef struct Activators {
        Map names; // private: Activation by name
} Activators;      // zero-initialised: empty

void activators_done(Activators *m);
// The unit `name` activates this one; NULL: none (any more). 0 or -ENOMEM (then it activates what it did).
int activators_set(Activators *m, const char *name, const char *activates) _warn_unused_;
// Borrowed until the next activators_set(). NULL: none.
const char *activators_activated(const Activators *m, const char *name);
bool activators_has_any(const Activators *m, const char *name); // whether a unit activates it
// Calls `each` for everyone that activates it, in the order in which they were set, until it returns true;
// then that one's name, else NULL.
const char *activators_find(const Activators *m, const char *name,
                            bool (*each)(const char *name, void *userdata), void *userdata);
