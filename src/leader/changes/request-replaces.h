// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Replaces= of the units that there are, and of those that are to come.

#include "leader-core.h"
#include "replace-cycles.h"
#include "unit-file.h"

// Adds the units with Replaces= that a unit with these options would replace, and whom these replace, and so
// on; not those that `all` has, of which the same is known. 0 or -ENOMEM.
int replace_cycles_add_replaced(const ClusterState *state, const UnitOptions *options, ReplaceCycles *all);
// Whether the unit may have these options: 0, -EINVAL and *ret_why, -ENOMEM.
int replace_cycles_check(const ReplaceCycles *l, const char *name, const char *path,
                         const UnitOptions *options, char **ret_why);
