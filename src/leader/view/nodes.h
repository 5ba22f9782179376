// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Cordon, drain, labels.

#include "draft.h"
#include "leader-core.h"

bool node_is_emptying(const Node *n);
bool node_deadline_is_over(const Leader *l, const Node *n);
bool unit_has_to_leave(const Unit *u, const UnitEntry *e);
int node_sync_mode(Leader *l, Node *n, const Argosy__NodeRecord *record);
uint64_t nodes_next_deadline(const Leader *l);
void nodes_on_time(Leader *l);
// NodeChange and LabelChange. Both return what Handler.plan does.
int nodes_plan_mode(Leader *l, Ticket *t, Draft *b);
int nodes_plan_labels(Leader *l, Ticket *t, Draft *b);
int drain_wait_start(Leader *l, Ticket *t);
void drains_tell(Leader *l);
// The only ways to change Unit.homeless, and to follow what Node.n_leaving is made of.
void unit_set_homeless(Leader *l, Unit *u, bool homeless);
void site_count(Site *s);
bool record_has_to_leave(const Argosy__UnitRecord *r); // if its node is emptied
