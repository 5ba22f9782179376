// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The node that has the data of a container (FailingOptions.has_data), which alone may run the container.

#include "leader-core.h"
#include "tables.h"

// NULL: any node may have the unit.
const Node *data_node_of(const Leader *l, const Unit *u, const UnitEntry *e);
// UnitExtra.data_node of the next record of a unit (BatchBuilder.data_node); `userdata` is the Leader.
uint32_t data_node_of_record(const Argosy__UnitRecord *next, void *userdata);
// Whether the unit is without a node and kept for that of its data.
void data_nodes_note(Leader *l, Unit *u, bool away);
// Pulls DUE_DATA: units that have no node and are kept for that of their data are looked at.
void data_nodes_reconsider(Leader *l);
