// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Replaces= of the units that there are, and of those that are to come.

#include "leader-core.h"
#include "replace-cycles.h"
#include "unit-file.h"

// All units with Replaces=. 0 or -ENOMEM; *ret is to be freed also then.
int replace_cycles_of_state(ClusterState *state, ReplaceCycles *ret);
// Whether the unit may have these options: 0, -EINVAL and *ret_why, -ENOMEM.
int replace_cycles_check(const ReplaceCycles *l, const char *name, const char *path,
                         const UnitOptions *options, char **ret_why);
