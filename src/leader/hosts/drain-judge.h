// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How far a drain is, from what is counted as it changes (view/nodes.h).

#include "leader-core.h"

typedef enum DrainEnd {
        DRAIN_GOES_ON,
        DRAIN_EMPTY,
        DRAIN_STUCK, // no other node takes what is left
        DRAIN_OVER,  // the node is not being emptied any more
        DRAIN_GONE,  // there is no such node any more: nobody knows whether all had left it
} DrainEnd;

typedef struct DrainView {
        size_t left;     // units that are still there
        size_t stuck;    // of these: no other node takes them
        bool emptying;   // all of its nodes
        bool unattached; // what its nodes hold is not known to this leader yet
        bool ends;       // at a deadline that is to come, or was not acted on yet
} DrainView;

// The view of that node of the host, or of all of them with 0.
DrainView drain_view(const Host *h, uint32_t node);
DrainEnd drain_view_judge(const Leader *l, const DrainView *v);
// Judges the drain of one node. *ret_left: units that are still there.
DrainEnd drain_judge(const Leader *l, uint32_t node, size_t *ret_left);
