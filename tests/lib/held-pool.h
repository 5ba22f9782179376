// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A pool that a test keeps busy: what it is given then waits for as long as the test likes. In a program
// that has this header it has one thread.

#include <stdlib.h>
#include <uv.h>

#include "test.h"

static uv_sem_t held_pool_may_go;
static bool held_pool_is_held;

__attribute__((constructor)) static void held_pool_begin(void) {
        setenv("UV_THREADPOOL_SIZE", "1", true);
}

static inline void held_pool_wait(uv_work_t *work) {
        uv_sem_wait(&held_pool_may_go);
}

static inline void held_pool_on_waited(uv_work_t *work, int status) {
        uv_sem_destroy(&held_pool_may_go);
        held_pool_is_held = false;
}

static inline void held_pool_hold(uv_loop_t *loop) {
        static uv_work_t work;

        assert_int_equal(uv_sem_init(&held_pool_may_go, 0), 0);
        assert_int_equal(uv_queue_work(loop, &work, held_pool_wait, held_pool_on_waited), 0);
        held_pool_is_held = true;
}

static inline void held_pool_let_go(void) {
        uv_sem_post(&held_pool_may_go);
}
