// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What our drop-in for a unit says. Pure.

#include <stdbool.h>

#include "buf.h"

struct FailingOptions;
struct UnitFile;

// Appends the text to *ret; nothing at all if the unit needs no drop-in. `suffix` is ".service" etc.,
// `slice`, `failing` and `secrets` may be NULL: no slice of ours, nothing of the unit's own.
int unit_dropin_text(const char *suffix, const char *slice, const struct FailingOptions *failing,
                     const char *secrets, Buf *ret);
// What it says of the secrets of the unit `name` with that file (secret-files.h): a new string in *ret;
// NULL: it has none. 0 or -ENOMEM.
int unit_dropin_secrets(const struct UnitFile *f, const char *name, char **ret);
