// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What our drop-in for a unit says. Pure.

#include <stdbool.h>

#include "buf.h"

// Appends the text to *ret; nothing at all if the unit needs no drop-in. `suffix` is ".service" etc.,
// `slice` may be NULL.
int unit_dropin_text(const char *suffix, const char *slice, Buf *ret);
