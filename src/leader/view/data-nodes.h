// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The node that has the data of a container (FailingOptions.has_data), which alone may run the container.

#include "leader-core.h"
#include "tables.h"

// NULL: any node may have the unit.
const Node *data_node_of(const Leader *l, const Unit *u, const UnitEntry *e);
// UnitExtra.data_node of the next record of a unit (BatchBuilder.data_node); `userdata` is the Leader.
uint32_t data_node_of_record(const Argosy__UnitRecord *next, void *userdata);
// The scheduler confines the unit to that node; `away`: it is without a node at present. Whether that is
// another node than before.
bool data_nodes_bind(Leader *l, Unit *u, const Node *n, bool away);
void data_nodes_unbind(Leader *l, const Unit *u);
bool data_nodes_binds(const Leader *l, const char *name);
const Node *data_node_bound(const Leader *l, const char *name); // NULL: it is confined to none
// Pulls DUE_DATA: units that have no node and are kept for that of their data are looked at.
void data_nodes_reconsider(Leader *l);
