// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that are to get other files, and whether one rollout can bring them these. Pure.

#include "hash.h"

typedef struct RolloutGroup {
        char *name; // what an update names: the template, or the unit; NULL: no unit was added
        Hash spec;
} RolloutGroup;

void rollout_group_done(RolloutGroup *g);
// A unit that is to have this content and is to be as it is otherwise; `from_template`: it has the file of
// its template, and is to have it; `global`: it runs on all nodes. 0; -EINVAL: it is not for this rollout,
// and *ret_why says why (constant); -ENOMEM.
int rollout_group_add(RolloutGroup *g, const char *unit, bool from_template, bool global, const Hash *spec,
                      const char **ret_why);
