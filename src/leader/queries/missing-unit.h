// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where a unit is that systemd did not find on a node.

#include "leader-core.h"

// Appends to `text` (of `size` bytes, a sentence of why the unit `name` did not start on the node of that
// name) where what it needs there is, and which option brings the two together. Nothing is appended if the
// sentence names no unit that is missing, and the unit activates none that is.
void missing_unit_explain(const Leader *l, const char *name, const char *node, char *text, size_t size);
