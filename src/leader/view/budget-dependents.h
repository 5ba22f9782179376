// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What systemd takes down together with a unit counts for the budgets of those units (MaxUnavailable=), as
// far as the files of the cluster's own units say so; drop-ins of a node are not seen here.

#include "leader-core.h"
#include "tables.h"

int budget_dependents_on_unit(Leader *l, const UnitEntry *e); // follows its record; 0 or -ENOMEM
// Begins at the first unit or template that names the network's file (stop-dependents.h).
void budget_dependents_walk_network(Leader *l, StopWalk *w, const char *network);
// A budget that has no room for what goes down when the unit is stopped on the node; NULL: all have. One of
// whose units more depend on it than may ever be down is asked for as much room as it can have.
DisruptionBudget *budget_dependents_in_the_way(const Leader *l, const Unit *u, const Node *n);
// The same of a unit that makes networks anew on the node, with all that share them; names of their files
// with blanks between them.
DisruptionBudget *budget_dependents_with_networks_in_the_way(const Leader *l, const Unit *u, const Node *n,
                                                             const char *networks);
// Something that takes the unit down with it was told to stop on its node, and has not said yet that it has:
// the unit is as good as down.
bool budget_dependents_goes_down(const Leader *l, const Unit *u);
// Something of the unit was seen or changed: those that are stopped with it are looked at again
// (disruption_budget_refresh()).
void budget_dependents_refresh(Leader *l, const Unit *u);
// The batch in the making stops it there.
void budget_dependents_take(Leader *l, const Unit *u, const Node *n);
