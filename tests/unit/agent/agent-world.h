// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The whole agent against a PID 1 in memory and a leader that is the test: real unit files, ledger and fence
// in a directory of the test.

#include "agent-rig.h"

#include "fake-pid1.h"

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

static FakePid1 *pid1;

static inline int world_up(void **state) {
        rig_up();
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        return 0;
}

static inline int world_down(void **state) {
        if (w.agent)
                agent_down();
        pid1 = pid1_free(pid1);
        return rig_down();
}
