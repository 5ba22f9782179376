// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Why nodes do not have something, as one line: "n1, n3: manifest unknown; n2: i/o timeout". Nodes with the
// same reason stand together. Of many the first are named: "and 7 more". The caller's; NULL: out of memory.

#include <stddef.h>

#include "argosy.pb-c.h"

char *refusal_words(Argosy__Refusal *const *list, size_t n);
