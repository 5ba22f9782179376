// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The pool of a rig's leader, kept busy (held-pool.h): the rig does not wait for what the leader gives it
// then.

#include "held-pool.h"
#include "leader-rig.h"

static inline void rig_pool_hold(Rig *rig) {
        held_pool_hold(&rig->loop);
        rig->pool_held = true;
}

static inline void rig_pool_let_go(Rig *rig) {
        held_pool_let_go();
        while (held_pool_is_held)
                uv_run(&rig->loop, UV_RUN_ONCE);
        rig->pool_held = false;
}
