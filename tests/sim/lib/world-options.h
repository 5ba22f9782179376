// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What contents of units demand (world-options.c).

#include "buf.h"
#include "world-units.h"

// Appends a section of our own options, and notes in the content what they say.
void world_options_put(Draw *d, Buf *text, WorldContent *c, const WorldUnit *u);
// An option that units may have and that no story writes; NULL: there is none.
const char *world_options_missing(void);
// A theme of options (Swarm.theme), which most of those that are said have then.
enum {
        WORLD_THEMES = 6,
        WORLD_THEME_CARRIED = 1 << 5,
        WORLD_THEME_CONTENTION = 1 << WORLD_THEMES // never drawn there
};
unsigned world_options_draw_theme(Draw *d);
