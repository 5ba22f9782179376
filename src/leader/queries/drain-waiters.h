// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for a drain.

#include "leader-core.h"

typedef enum DrainEnd {
        DRAIN_GOES_ON,
        DRAIN_EMPTY,
        DRAIN_STUCK, // no other node takes what is left
        DRAIN_OVER,  // the node is not being emptied any more
        DRAIN_GONE,  // there is no such node any more: nobody knows whether all had left it
} DrainEnd;

// Of one node. *ret_left: units that are still there.
DrainEnd drain_judge(const Leader *l, uint32_t node, size_t *ret_left);
int drain_waiter_start(Leader *l, Ticket *t);
void drains_notify(Leader *l);
