// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Lists of nodes, and of the hosts that `cluster status` names. One of a thousand hosts or more is made in
// turns, and each of them is told of as it is in its turn.

#include "leader-core.h"

Argosy__Response *node_list_answer(Leader *l, const Argosy__Request *request);
bool node_list_is_long(const Leader *l, const Argosy__Request *request);
int node_list_start(Leader *l, PendingRequest *t);
void node_lists_turn(Leader *l);
