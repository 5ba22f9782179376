// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Reading verbs, answered from the records and from what is seen. The leader may be not leading (stale answers). What
// the functions return and how they answer: Handler in handlers.h.

#include "leader-core.h"

Argosy__Response *answer_units(Leader *l, const Argosy__Request *request);
Argosy__Response *answer_unit_files(Leader *l, const Argosy__Request *request);
Argosy__Response *answer_nodes(Leader *l, const Argosy__Request *request);
Argosy__Response *answer_cluster_status(Leader *l, const Argosy__Request *request);
void answer_cat(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);

int unit_on_node_fill_row(const UnitOnNode *s, Argosy__Response__UnitRow *row); // NULL: nothing is known
int row_fill_host(const Leader *l, const Argosy__HostRecord *host, Argosy__Response__UnitRow *row);
