// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Verbs that agents answer (REQUEST_BY_NODES): how each kind of request becomes calls of nodes
// (node-calls.h).

#include "leader-core.h"

bool node_questions_has(Argosy__Request__WhatCase what);
// 0 or a negative errno: then nothing was asked.
int node_questions_start(Leader *l, PendingRequest *t);
// Asks more nodes, or about more units, for those who have named thousands, or ask all nodes.
void node_questions_turn(Leader *l);
