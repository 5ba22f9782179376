// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A pool that a test keeps busy: what the leader of a rig gives it then waits for as long as the test likes.
// It has one thread, which main() asks for: setenv("UV_THREADPOOL_SIZE", "1", true).

#include "leader-rig.h"
#include "test.h"

static uv_sem_t may_end;
static bool keeps_busy;

static inline void wait_for_the_test(uv_work_t *work) {
        uv_sem_wait(&may_end);
}

static inline void on_waited(uv_work_t *work, int status) {
        keeps_busy = false;
}

static inline void hold_pool(Rig *rig) {
        static uv_work_t work;

        assert_int_equal(uv_sem_init(&may_end, 0), 0);
        assert_int_equal(uv_queue_work(&rig->loop, &work, wait_for_the_test, on_waited), 0);
        rig->pool_held = keeps_busy = true;
}

static inline void let_pool_go(Rig *rig) {
        uv_sem_post(&may_end);
        while (keeps_busy)
                uv_run(&rig->loop, UV_RUN_ONCE);
        uv_sem_destroy(&may_end);
        rig->pool_held = false;
}
