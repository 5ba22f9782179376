// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A word for all that lists of units show at present: whoever has a list with the same one has that list.

#include "leader-core.h"

enum { LIST_TAG_SIZE = 2 * 16 + 1 };

// False: there is none, since nobody leads here or something is about to change, or may without anybody being told.
bool list_tag(const Leader *l, const Argosy__Author *author, char ret[LIST_TAG_SIZE]);
// Whether it is among those that somebody has.
bool list_tag_is_known(const char *tag, const char *known);
