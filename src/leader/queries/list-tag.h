// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A tag for all that lists of units show at present: a client whose list has the same tag has the current
// list.

#include "leader-core.h"

enum { LIST_TAG_SIZE = 2 * 16 + 1 };

// False: there is none, since nobody leads here or something is about to change, or may without anybody
// being told.
bool list_tag(const Leader *l, const Argosy__Author *author, char ret[LIST_TAG_SIZE]);
// Whether it is among those that somebody has.
bool list_tag_is_known(const char *tag, const char *known);
