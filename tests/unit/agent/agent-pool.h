// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A pool that a test keeps busy: what the agent gives it then waits for as long as the test likes. In a
// program that has this header it has one thread.

#include <stdlib.h>

#include "loop.h"
#include "test.h"

static uv_sem_t agent_pool_may_go;

__attribute__((constructor)) static void agent_pool_begin(void) {
        setenv("UV_THREADPOOL_SIZE", "1", true);
}

static inline void agent_pool_wait(uv_work_t *work) {
        uv_sem_wait(&agent_pool_may_go);
}

static inline void agent_pool_on_waited(uv_work_t *work, int status) {
        uv_sem_destroy(&agent_pool_may_go);
}

static inline void agent_pool_hold(void) {
        static uv_work_t work;

        assert_int_equal(uv_sem_init(&agent_pool_may_go, 0), 0);
        assert_int_equal(uv_queue_work(&test_loop, &work, agent_pool_wait, agent_pool_on_waited), 0);
}

static inline void agent_pool_let_go(void) {
        uv_sem_post(&agent_pool_may_go);
}
