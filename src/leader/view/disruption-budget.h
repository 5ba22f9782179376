// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that stand in for each other, and how many of them may be down.

#include "leader-core.h"
#include "tables.h"

DisruptionBudget *disruption_budget_find(const Leader *l, const char *name);
DisruptionBudget *disruption_budget_get(Leader *l, const char *name); // makes it; NULL: out of memory
void disruption_budget_drop_if_unused(Leader *l, DisruptionBudget *g);
void disruption_budget_discard(DisruptionBudget *g); // as unit_discard()
int disruption_budget_join(Leader *l, Unit *u, const UnitEntry *e); // that it is of now, if any; 0 or
                                                                    // -ENOMEM
int disruption_budget_on_unit(Leader *l, Unit *u, const UnitEntry *e); // follows its record; 0 or -ENOMEM
void disruption_budget_leave(Leader *l, Unit *u);
void disruption_budget_refresh(Leader *l, Unit *u); // follows what is seen of it
// Of one that is in no budget: since when it is up where, for an update that it has to do with.
void disruption_budget_follow(Leader *l, Unit *u);
// Whether a unit that runs on the node is to run there, as it does.
bool disruption_budget_is_settled(const Leader *l, const Unit *u, const Node *n);
// How many of the budget may be down by the units' own options; SIZE_MAX: any number.
size_t disruption_budget_max(const Leader *l, const DisruptionBudget *g, const UnitEntry *e);
// How many more of them may be taken down now; SIZE_MAX: any number.
size_t disruption_budget_room(const Leader *l, const DisruptionBudget *g, const UnitEntry *e);
// The budget that has no room for the unit, or for one that systemd stops with it (budget-dependents.h);
// NULL: it may be taken down now.
DisruptionBudget *disruption_budget_in_the_way(const Leader *l, const Unit *u, const UnitEntry *e);
bool disruption_budget_allows(const Leader *l, const Unit *u, const UnitEntry *e);
// Whether the unit is to leave a node that is emptied, or (`replaced`) where somebody replaces it, and
// cannot yet for its budget's sake. What a lost node, a drain's deadline or a node that refuses it demands
// does not wait.
bool disruption_budget_keeps(const Leader *l, const Unit *u, const UnitEntry *e, bool replaced);
// The batch in the making takes the unit down, and what is stopped with it: remembered until the next batch.
void disruption_budget_take(Leader *l, Unit *u);
void disruption_budget_take_one(Leader *l, Unit *u); // alone
// Whether it would leave its node, and waits for others of its budget.
bool disruption_budget_holds_back(const Unit *u);

// What a plan makes of the counts. One at a time.
void disruption_budget_plan_begin(Leader *l);
void disruption_budget_plan_end(Leader *l);
typedef struct BudgetShare {
        DisruptionBudget *budget; // NULL: it stands alone
        bool counted, down;       // what of it is in its budget's numbers
} BudgetShare;
// *ret: what is counted of the unit of this name, which may have no record yet. Or -ENOMEM.
enum {
        BUDGET_NONE,         // it stands alone
        BUDGET_JOINED,       // the plan is about that group already
        BUDGET_JOINED_FIRST, // from now on
};
int disruption_budget_plan_join(Leader *l, const char *name, BudgetShare *ret);
// From now on so much is counted of it. A share without a budget counts nowhere.
void disruption_budget_plan(BudgetShare *share, bool counted, bool is_down);
