// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Hosts and nodes in the Placement: they are there as the tables have them before something is placed.

#include "leader-core.h"
#include "unit-file.h"

// For a new leader with all hosts in its tables: adds up to *left of their nodes, in the order of their
// numbers. True: there are no more.
bool scheduler_build_nodes(Leader *l, size_t *left);
void scheduler_on_node_freed(Leader *l, Node *n);
// As much of the hosts that have changed as one turn takes; false: there is more. The same of all labels.
bool scheduler_sync_nodes_step(Leader *l);
bool scheduler_label_step(Leader *l);
void scheduler_relabel(Leader *l); // labels are to be looked at anew: pools have changed
bool node_takes_units(const Node *n, const char **ret_why);
bool node_admits(const Leader *l, const Node *n, const UnitOptions *options);
// scheduler-nodes.c
// What there is as it is now; the host of that number (0: none) as if it took nobody.
void scheduler_sync_nodes(Leader *l, uint32_t without_host);
void scheduler_add_new_nodes(Leader *l);    // with their labels
void scheduler_sync_all_offers(Leader *l);  // there is a new kind of resource
void scheduler_mark_labels(Leader *l); // before a node is chosen next
