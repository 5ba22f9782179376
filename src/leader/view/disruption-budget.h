// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that stand in for each other, and how many of them may be down.

#include "leader-core.h"
#include "tables.h"

DisruptionBudget *disruption_budget_find(const Leader *l, const char *name);
DisruptionBudget *disruption_budget_get(Leader *l, const char *name); // makes it; NULL: out of memory
void disruption_budget_drop_if_unused(Leader *l, DisruptionBudget *g);
int disruption_budget_join(Leader *l, Unit *u, const UnitEntry *e); // that it is of now, if any; 0 or
                                                                    // -ENOMEM
int disruption_budget_on_unit(Leader *l, Unit *u, const UnitEntry *e); // follows its record; 0 or -ENOMEM
void disruption_budget_leave(Leader *l, Unit *u);
void disruption_budget_refresh(Leader *l, Unit *u); // follows what is seen of it
// How many of the budget may be down by the units' own options; SIZE_MAX: any number.
size_t disruption_budget_max(const DisruptionBudget *g, const UnitEntry *e);
// Whether the unit may be taken down now. If so the budget remembers it until the next batch.
bool disruption_budget_allows(Leader *l, Unit *u, const UnitEntry *e);
// Whether the unit is to leave a node that is emptied, and cannot yet for its budget's sake.
bool disruption_budget_keeps(Leader *l, Unit *u, const UnitEntry *e);
void disruption_budget_take(Leader *l, Unit *u);
size_t disruption_budget_taken(const Leader *l, const DisruptionBudget *g);
// Whether it would leave its node, and waits for others of its budget.
bool disruption_budget_holds_back(const Unit *u);
