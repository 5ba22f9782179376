// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests about nodes: cordon, drain, maintenance, uncordon, labels.

#include "batch-builder.h"
#include "leader-core.h"

// NodeChange and LabelChange. Both return what Handler.plan does.
int nodes_plan_modes(Leader *l, PendingRequest *t, BatchBuilder *b);
int nodes_plan_labels(Leader *l, PendingRequest *t, BatchBuilder *b);
// The record and what follows from it for what ran there. 0 or a negative errno, as
// batch_builder_put_host().
int node_change_put_host(Leader *l, BatchBuilder *b, Argosy__HostRecord *record);
// What a word names: a host (all of its nodes, *ret_node 0), or one node as HOST/MANAGER. NULL: the pending
// request is refused.
const Argosy__HostRecord *node_request_resolve(Leader *l, PendingRequest *t, const char *word,
                                               uint32_t *ret_node);
