// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a unit is, as its nodes have said, for an apply.

#include "apply-seen.h"
#include "leader-core.h"
#include "tables.h"

typedef struct ApplySight {
        ApplySeen seen;
        Node *node; // NULL: it has none, or several
        const DisruptionBudget *group; // that it is of; NULL: of none
} ApplySight;

// It costs as much as the nodes that have the unit.
ApplySight apply_look(Leader *l, const UnitEntry *e);
