// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What our drop-in for a unit says. Pure.

#include <stdbool.h>

#include "buf.h"

struct FailingOptions;

// Appends the text to *ret; nothing at all if the unit needs no drop-in. `suffix` is ".service" etc.,
// `slice` and `failing` may be NULL: no slice of ours, nothing of the unit's own.
int unit_dropin_text(const char *suffix, const char *slice, const struct FailingOptions *failing, Buf *ret);
