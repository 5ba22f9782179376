// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// All verbs of argosyctl. Only main sees the table; who needs it further down is given it.

#include "verb-list.h"

extern const VerbList verb_table;
