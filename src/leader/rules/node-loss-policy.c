// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a unit of a lost node may move, and how long a guard may take. What an owner wants now (a drain, its
// deadline) counts more than what the file says; nothing moves before it has certainly ended.
// NODE_LOSS_NEVER: not by itself.

#include "node-loss-policy.h"

#include "clock.h"
#include "macro.h"

uint64_t node_loss_policy_fence_us(const FailingOptions *o, uint64_t lease_us) {
        uint64_t us;

        if (!o->cut_off_stop)
                return 0;
        us = o->cut_off_sec * USEC_PER_SEC + o->stop_us;
        return us + (lease_us + us) / 1000 + FENCE_MARGIN_MSEC * USEC_PER_MSEC;
}

// What the owner says now counts more than what the file says for all times.
static uint64_t wanted_at(const NodeLossView *v) {
        switch (v->options->node_lost) {
        case NODE_LOST_NEVER:
                return v->emptying && v->deadline_over ? v->lost_us : NODE_LOSS_NEVER;
        case NODE_LOST_KEEP:
                return v->emptying ? v->lost_us : NODE_LOSS_NEVER;
        default:
                return v->lost_us + (v->emptying ? 0 : v->options->node_lost_delay_us);
        }
}

uint64_t node_loss_policy_move_at(const NodeLossView *v) {
        return MAX_OF(wanted_at(v), v->runs_until_us);
}
