// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units of jobs that are running get their former content again, since what their jobs have brought does not
// start.

#include "decision.h"

// Puts what is due into the entry, as far as that takes it; the rest is for the next one. 0 or a negative
// errno.
int reverts_decide(Decision *d);
