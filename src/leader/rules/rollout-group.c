// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether all units of a list can be brought to one content by one rollout: one template's instances, or one
// unit. rollout_group_add() per unit: the first one sets name and content -> the others have to have the
// same. -EINVAL and *ret_why (static): another template or content; -ENOMEM.

#include "rollout-group.h"

#include <errno.h>
#include <stdlib.h>

#include "macro.h"
#include "unit-name.h"

void rollout_group_done(RolloutGroup *g) {
        free(g->name);
        *g = (RolloutGroup){};
}

// The name of the unit's rollout: its template's or its own. NULL: out of memory.
static char *name_of(const char *unit, bool from_template) {
        return from_template && unit_name_kind(unit, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(unit)
                                                                                 : strdup(unit);
}

int rollout_group_add(RolloutGroup *g, const char *unit, bool from_template, bool global, const Hash *spec,
                      const char **ret_why) {
        _cleanup_free_ char *name = name_of(unit, from_template);

        if (!name)
                return -ENOMEM;
        if (global && !streq(name, unit)) {
                *ret_why = "runs on all nodes, and such an instance is updated by itself";
                return -EINVAL;
        }
        if (!g->name) {
                g->name = TAKE_PTR(name);
                g->spec = *spec;
                return 0;
        }
        if (!streq(g->name, name)) {
                *ret_why = "is of another template, or of none";
                return -EINVAL;
        }
        if (!hash_equal(&g->spec, spec)) {
                *ret_why = "is to have another file than others";
                return -EINVAL;
        }
        return 0;
}
