// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// When a unit of a lost node may start elsewhere. Pure: times are arguments, boot clock, microseconds.
//
// A unit that asked to be stopped when cut off (CutOff=stop) runs nowhere else before it has certainly
// stopped. On its node the lease runs from when the last acknowledged beat was sent, so it is over no later
// than here, where it runs from when that beat was received. From then on:
//
//      here:  lost ----------------------------------------------------------------> may start elsewhere
//      there: lease over -- CutOffSec --> guard fires -- stop timeout --> killed       + margin
//
// The margin pays for clocks that run unequally (one part in a thousand, ten times what oscillators do) and
// for what a busy PID 1 may be late.

#include <stdbool.h>
#include <stdint.h>

#include "failing-options.h"

#define NODE_LOSS_NEVER UINT64_MAX

enum { FENCE_MARGIN_MSEC = 2000 };

typedef struct NodeLossView {
        const FailingOptions *options;
        uint64_t lost_us;       // since when the leader calls the host lost
        uint64_t runs_until_us; // until when the unit may run there (fencing-policy.h); 0: it does not, or
                                // nobody waits
        bool emptying;          // its owner drains the node
        bool deadline_over;     // and does not wait for it any longer
} NodeLossView;

// From the loss until nothing of it runs there any more.
uint64_t node_loss_policy_fence_us(const FailingOptions *o, uint64_t lease_us);
// When the unit may move; NODE_LOSS_NEVER: only if its owner says so.
uint64_t node_loss_policy_move_at(const NodeLossView *v);
