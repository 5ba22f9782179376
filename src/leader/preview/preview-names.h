// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What nodes say of the names of units that a plan puts there, and what follows from that for the plan.

#include "preview.h"
#include "pending-requests.h"

typedef struct PlanNames PlanNames;
// `settled`: all is known that was asked for; not from within plan_names_ask().
PlanNames *plan_names_new(Leader *l, PendingRequest *t, void (*settled)(PendingRequest *t)) _warn_unused_;
PlanNames *plan_names_free(PlanNames *p);

// Asks the nodes on which this plan puts units whatever they have not said yet. *ret: answers are awaited,
// and `settled` follows. Else all is known, and the plan's units have notes of it. 0 or -ENOMEM.
int plan_names_ask(PlanNames *p, Preview *plan, bool *ret);
// Whether a node has refused something since the plan was begun last: then it is to be begun anew.
bool plan_names_is_news(PlanNames *p);
// Hosts that have not answered by now are not waited for.
void plan_names_give_up(PlanNames *p);

// While it is thought about what follows from a plan, its units are refused where they come to nodes that
// have refused them: PreviewRefuses, with PlanNames as its userdata. NULL: nobody has refused anything so
// far.
PreviewRefuses plan_names_refuse(const PlanNames *p);
void plan_names_take_back(PlanNames *p); // afterwards
